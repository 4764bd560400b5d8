//! The export and the deletion of all data of a user.

use super::*;

/// Gives a user items of every kind, and `days` logs.
async fn fill(service: &Service, id: &UserId, days: i64) {
    let begin: jiff::civil::Date = "2015-01-01".parse().unwrap();
    let put = |day: i64| {
        let log = Log { date: begin + jiff::Span::new().days(day), has_bleeding: false };
        let log = MedicationLog::new(id, log, day.to_string(), now());
        let log = MedicationLog { note: Some("a note".to_owned()), ..log };
        service.db.client.put_item().table_name(Database::OKUSURI).set_item(Some(item(&log).unwrap())).send()
    };
    for days in (0..days).collect::<Vec<_>>().chunks(50) {
        join_all(days.iter().map(|day| put(*day))).await.into_iter().for_each(|put| drop(put.unwrap()));
    }
    let user = service.user(id.as_str()).await;
    service.users.set_image(&user, "image/png", b"a picture", now()).await.unwrap();
    service.sign_ins.link(&user, &login("subject-1", None), &service.vault, now()).await.unwrap();
}

#[tokio::test]
async fn interrupted_user_deletion_ends_with_nothing_left() {
    let service = Service::start().await;
    let (_, bob) = service.enter("bob", now()).await;
    let before = service.items().await;
    let (token, ann) = service.enter("ann", now()).await;
    service.enter("ann", now() + seconds(60)).await;
    let id = UserId::new(&ann.user.user_id).unwrap();
    fill(&service, &id, 2_000).await;
    // A code is active.
    service.codes.issue(&email("ann"), &code("123456"), now() + seconds(120)).await.unwrap();
    assert_eq!(service.items().await.len(), before.len() + 2_000 + 10);

    let delete = async |at| service.everything.delete(&id, at, || true).await;
    // The deletion fails at different places: among the items, at the markers, and at the end.
    for (operation, failures) in [("BatchWriteItem", 50), ("TransactWriteItems", 50), ("Query", 50)] {
        service.fail(operation, failures);
        assert!(delete(now()).await.is_err(), "{operation}");
        service.fail(operation, 0);
    }
    // The time limit is reached.
    assert_eq!(service.everything.delete(&id, now(), || false).await.unwrap(), DeleteProgress::Unfinished);
    // The sessions no longer sign in, but the user may continue the deletion with them.
    assert!(!service.is_signed_in(&token, now()).await);
    assert!(service.sessions.of_token_even_deleting(&token, now()).await.unwrap().is_some());
    let again = Sessions::new(&service.db.table(Database::OKUSURI));
    assert!(again.list(&bob.user, now()).await.unwrap().len() == 1);
    // A sign-in with a code is refused until the deletion is finished.
    let right = service.codes.check(&email("ann"), &code("123456"), now() + seconds(120)).await.unwrap();
    let (_, session) = service.new_session();
    let entered = service.sign_ins.with_code(&right, &new_user("ann-again"), &session, now()).await;
    assert!(matches!(entered, Err(SignInError::Deleting(of)) if of == id));
    assert_eq!(delete(now()).await.unwrap(), DeleteProgress::Done);
    assert_eq!(delete(now()).await.unwrap(), DeleteProgress::Done);
    assert_eq!(service.items().await, before);
}

#[tokio::test]
async fn user_deletion_keeps_items_and_addresses_of_others() {
    let service = Service::start().await;
    let (_, ann) = service.enter("ann", now()).await;
    let id = UserId::new(&ann.user.user_id).unwrap();
    // Another user has the address by now, as after a migration with duplicate addresses.
    let marker = service.db.client.update_item().table_name(Database::OKUSURI);
    let marker = marker.key("PK", AttributeValue::S("EMAIL#ann@example.com".to_owned()));
    let marker = marker.key("SK", AttributeValue::S("EMAIL".to_owned())).update_expression("SET UserId = :other");
    marker.expression_attribute_values(":other", AttributeValue::S("other".to_owned())).send().await.unwrap();
    service.codes.issue(&email("ann"), &code("123456"), now()).await.unwrap();
    assert_eq!(service.everything.delete(&id, now(), || true).await.unwrap(), DeleteProgress::Done);
    let left: Vec<_> = service.items().await.into_iter().collect();
    assert_eq!(left, ["EMAIL#ann@example.com EMAIL", "VERIFICATION#ann@example.com CODE"]);
}

#[tokio::test]
async fn user_export_pages_all_data_without_tokens() {
    let service = Service::start().await;
    let (token, ann) = service.enter("ann", now()).await;
    let id = UserId::new(&ann.user.user_id).unwrap();
    fill(&service, &id, 30).await;
    let (mut items, mut position) = (Vec::new(), None);
    let mut pages = 0;
    loop {
        let page = service.everything.page(&id, None, position.as_deref(), 7).await.unwrap();
        items.extend(page.items);
        pages += 1;
        position = page.next;
        if position.is_none() {
            break;
        }
    }
    assert_eq!((items.len(), pages), (34, 5), "30 logs, the account, the picture, the profile and the session");
    let text = serde_json::to_string(&items).unwrap();
    for secret in [token.as_str(), &sha256_hex(token.as_bytes()), "USER#", "accessToken", "tokenHash", "typePartition"]
    {
        assert!(!text.contains(secret), "{secret} in {text}");
    }
    let kinds: BTreeSet<_> = items.iter().map(|item| item["type"].as_str().unwrap()).collect();
    assert_eq!(kinds, BTreeSet::from(["account", "medication_log", "user", "user_image", "user_session"]));
    let log = items.iter().find(|item| item["date"] == "2015-01-30").unwrap();
    assert_eq!((&log["hasBleeding"], &log["note"]), (&false.into(), &"a note".into()));
}

#[tokio::test]
async fn profile_picture_can_be_stored_and_removed() {
    let service = Service::start().await;
    let (_, ann) = service.enter("ann", now()).await;
    let id = UserId::new(&ann.user.user_id).unwrap();
    let users = &service.users;
    let first = users.set_image(&ann.user, "image/png", b"one", now()).await.unwrap().unwrap();
    let second = users.set_image(&ann.user, "image/jpeg", b"two", now()).await.unwrap().unwrap();
    assert!(first.starts_with("self:") && first != second);
    let image = users.image(&id).await.unwrap().unwrap();
    assert_eq!((&*image.content_type, &image.bytes[..]), ("image/jpeg", &b"two"[..]));
    users.remove_image(&id, now()).await.unwrap();
    assert_eq!(users.image(&id).await.unwrap(), None);
    let nobody = UserId::new("nobody").unwrap();
    let gone = User { user_id: nobody.to_string(), ..ann.user };
    assert_eq!(users.set_image(&gone, "image/png", b"one", now()).await.unwrap(), None);
    assert_eq!(users.image(&nobody).await.unwrap(), None);
}
