//! Logins elsewhere: whose they are.

use super::*;

#[tokio::test]
async fn whoever_proves_to_have_the_mailbox_puts_out_who_only_claimed_it() {
    let service = Service::start().await;
    let (token, entered) = service.enter("ann", now()).await;
    // As a user comes from the migration whose address nobody has confirmed.
    let unverified = service.db.client.update_item().table_name(Database::OKUSURI);
    let unverified = unverified.key("PK", AttributeValue::S(format!("USER#{}", entered.user.user_id)));
    let unverified = unverified.key("SK", AttributeValue::S("PROFILE".to_owned()));
    let unverified = unverified.update_expression("SET EmailVerified = :no, AddedLater = :no");
    unverified.expression_attribute_values(":no", AttributeValue::Bool(false)).send().await.unwrap();
    let at = now() + seconds(60);
    let (new, entered) = service.enter("ann", at).await;
    assert!(entered.user.email_verified && !entered.is_new);
    assert!(service.is_signed_in(&new, at).await);
    assert!(!service.is_signed_in(&token, at).await);
    // Once it is proved, it is proved.
    let (newest, _) = service.enter("ann", at + seconds(60)).await;
    assert!(
        service.is_signed_in(&new, at + seconds(60)).await && service.is_signed_in(&newest, at + seconds(60)).await
    );
}

#[tokio::test]
async fn an_unknown_login_is_a_new_user_and_a_known_one_the_same() {
    let service = Service::start().await;
    let enter = async |id: &str, login: &Login| {
        let (token, session) = service.new_session();
        let entered = service.sign_ins.with_login(login, &service.vault, &new_user(id), &session, now()).await;
        entered.map(|entered| (token, entered))
    };
    let with_email = login("subject-1", Some(email("ann")));
    let (token, first) = enter("ann", &with_email).await.unwrap();
    let (_, second) = enter("other", &with_email).await.unwrap();
    assert_eq!((first.is_new, second.is_new, &*second.user.user_id), (true, false, "ann"));
    assert!(service.is_signed_in(&token, now()).await);
    // The address counts: the same person comes in by code.
    assert_eq!(service.enter("ann", now()).await.1.user.user_id, "ann");
    // But not the other way round: whoever has the address at a provider need not have it here.
    let other = enter("bob", &login("subject-2", Some(email("ann")))).await;
    assert!(matches!(other, Err(LoginError::NotLinked)), "{other:?}");
    let (_, nobody) = enter("bob", &login("subject-2", None)).await.unwrap();
    assert_eq!((nobody.user.user_id.as_str(), nobody.user.email), ("bob", None));

    let id = UserId::new("ann").unwrap();
    let accounts = service.sign_ins.logins(&id).await.unwrap();
    let sealed = accounts[0].access_token.as_ref().unwrap();
    let open = |user| service.vault.open_token(user, "example", TokenKind::Access, sealed);
    assert_eq!(open("ann").unwrap().expose_secret(), "an access token");
    assert!(open("bob").is_err());
}

#[tokio::test]
async fn two_who_come_with_one_new_login_at_once_are_one_user() {
    let service = Service::start().await;
    // Some of them come between another one's two reads, of the login and of the address.
    const ROUNDS: usize = 12;
    for round in 0..ROUNDS {
        let login = login(&format!("subject-{round}"), Some(email(&format!("ann-{round}"))));
        let ids = ["one", "two", "three"].map(|id| new_user(&format!("{id}-{round}")));
        let sessions = [(); 3].map(|()| service.new_session().1);
        let entered = ids.iter().zip(&sessions);
        let entered =
            entered.map(|(id, session)| service.sign_ins.with_login(&login, &service.vault, id, session, now()));
        let entered = join_all(entered).await;
        let users: BTreeSet<_> = entered.into_iter().map(|entered| entered.unwrap().user.user_id).collect();
        assert_eq!(users.len(), 1, "{users:?}");
    }
    // Profile, two markers, the account, and three sessions of two items each.
    assert_eq!(service.items().await.len(), 10 * ROUNDS);
}

#[tokio::test]
async fn a_login_is_one_users_and_the_last_way_in_stays() {
    let service = Service::start().await;
    let (_, ann) = service.enter("ann", now()).await;
    let (_, bob) = service.enter("bob", now()).await;
    let ids = [&ann, &bob].map(|entered| UserId::new(&entered.user.user_id).unwrap());
    let (nobody, eves) = (UserId::new("nobody").unwrap(), UserId::new("eve").unwrap());
    let link =
        async |id: &UserId, login: &Login| service.sign_ins.link(id, login, &service.vault, now()).await.unwrap();
    let first = login("subject-1", None);
    assert_eq!(link(&ids[0], &first).await, Linked::Yes);
    assert_eq!(link(&ids[0], &first).await, Linked::Yes);
    assert_eq!(link(&ids[1], &first).await, Linked::Taken);
    // Of two at once, one.
    let second = login("subject-2", None);
    let both = join_all(ids.iter().map(|id| link(id, &second))).await;
    assert_eq!(both.iter().filter(|linked| **linked == Linked::Yes).count(), 1, "{both:?}");
    assert_eq!(link(&nobody, &login("subject-3", None)).await, Linked::NoUser);

    // With an address, logins may go.
    assert_eq!(service.sign_ins.unlink(&ann.user, "another").await.unwrap(), Unlinked::NotThere);
    assert_eq!(service.sign_ins.unlink(&ann.user, "example").await.unwrap(), Unlinked::Yes);
    assert_eq!(service.sign_ins.of_login("example", "subject-1").await.unwrap(), None);
    assert_eq!(link(&ids[1], &first).await, Linked::Yes);

    // Without one, the last stays, also when two go at once.
    let (_, session) = service.new_session();
    let eve = login("subject-9", None);
    let eve = service.sign_ins.with_login(&eve, &service.vault, &new_user("eve"), &session, now()).await.unwrap().user;
    assert_eq!(service.sign_ins.unlink(&eve, "example").await.unwrap(), Unlinked::LastWayIn);
    let second = Login { provider: "second".to_owned(), ..login("subject-9", None) };
    assert_eq!(link(&eves, &second).await, Linked::Yes);
    let both = join_all(["example", "second"].map(|provider| service.sign_ins.unlink(&eve, provider))).await;
    let gone = both.iter().filter(|unlinked| matches!(unlinked, Ok(Unlinked::Yes))).count();
    assert_eq!((gone, service.sign_ins.logins(&eves).await.unwrap().len()), (1, 1), "{both:?}");
}
