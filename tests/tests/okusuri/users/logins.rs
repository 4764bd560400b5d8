//! Logins at OpenID providers, and the users that they belong to.

use super::*;

#[tokio::test]
async fn verified_address_signs_out_its_unverified_claimant() {
    let service = Service::start().await;
    let (token, entered) = service.enter("ann", now()).await;
    service.unverify(&entered.user).await;
    let at = now() + seconds(60);
    let (new, entered) = service.enter("ann", at).await;
    assert!(entered.user.email_verified && !entered.is_new);
    assert!(service.is_signed_in(&new, at).await);
    assert!(!service.is_signed_in(&token, at).await);
    // Later sign-ins do not remove anything again.
    let (newest, _) = service.enter("ann", at + seconds(60)).await;
    assert!(
        service.is_signed_in(&new, at + seconds(60)).await && service.is_signed_in(&newest, at + seconds(60)).await
    );
}

/// A browser with a user's push subscription.
fn browser(user: &User, number: usize) -> PushSubscription {
    PushSubscription {
        user_id: user.user_id.clone(),
        platform: "web".to_owned(),
        endpoint: format!("https://push.example.com/{number}"),
        p256dh: "key".to_owned(),
        auth: "auth".to_owned(),
        is_enabled: true,
        disabled_because: None,
        failures: 0,
        last_sent_at: None,
        created_at: now(),
        updated_at: now(),
    }
}

#[tokio::test]
async fn the_first_code_removes_grants_made_before_it() {
    let service = Service::start().await;
    let (_, entered) = service.enter("ann", now()).await;
    let before = service.items().await;
    service.unverify(&entered.user).await;
    let user = service.user(&entered.user.user_id).await;
    // More logins than fit one transaction.
    for number in 0..45 {
        let login = login(&format!("subject-{number}"), None);
        assert_eq!(service.sign_ins.link(&user, &login, &service.vault, now()).await.unwrap(), LinkOutcome::Yes);
    }
    let notifications = Notifications::new(&service.db.table(Database::OKUSURI));
    for number in 0..3 {
        assert!(notifications.subscribe(&user, &browser(&user, number)).await.unwrap());
    }
    let id = UserId::new(&user.user_id).unwrap();
    notifications.set(&id, Platform::Web, true, now()).await.unwrap();
    // The stranger's clock is ahead: this session is newer than the code.
    let (session, new) = (service.new_session(), new_user("nobody"));
    let later = now() + seconds(3_600);
    let of_login =
        service.sign_ins.with_login(&login("subject-0", None), &service.vault, &new, &session.1, later).await;
    assert_eq!(of_login.unwrap().user.user_id, user.user_id);

    let at = now() + seconds(60);
    let (token, entered) = service.enter("ann", at).await;
    assert_eq!((entered.is_new, &entered.user.user_id), (false, &user.user_id));
    assert!(service.is_signed_in(&token, at).await && !service.is_signed_in(&session.0, later).await);
    let left: BTreeSet<_> = service.items().await.into_iter().filter(|key| !key.contains("SESSION#")).collect();
    let mut expected: BTreeSet<_> = before.into_iter().filter(|key| !key.contains("SESSION#")).collect();
    expected.insert(format!("USER#{id} NOTIFICATION#web"));
    assert_eq!(left, expected);
    // The stranger cannot add anything with an outdated profile.
    let late = service.sign_ins.link(&user, &login("late", None), &service.vault, at).await.unwrap();
    assert_eq!(late, LinkOutcome::NoUser);
    let late = notifications.subscribe(&user, &browser(&user, 9)).await;
    assert!(matches!(late, Err(WriteError::NoUser)), "{late:?}");
    // The user's own logins stay, also after later codes.
    service.sign_ins.link(&entered.user, &login("own", None), &service.vault, at).await.unwrap();
    service.enter("ann", at + seconds(60)).await;
    assert_eq!(service.sign_ins.logins(&id).await.unwrap().len(), 1);
}

#[tokio::test]
async fn a_login_linked_during_the_first_code_does_not_stay() {
    let service = Service::start().await;
    for round in 0..12 {
        let name = format!("ann-{round}");
        let (_, entered) = service.enter(&name, now()).await;
        service.unverify(&entered.user).await;
        let user = service.user(&entered.user.user_id).await;
        let known = login(&format!("known-{round}"), None);
        service.sign_ins.link(&user, &known, &service.vault, now()).await.unwrap();
        let notifications = Notifications::new(&service.db.table(Database::OKUSURI));
        let (added, device) = (login(&format!("added-{round}"), None), browser(&user, round));
        let (stranger, session) = (new_user(&format!("stranger-{round}")), service.new_session().1);
        let at = now() + seconds(60);
        let (entered, ..) = tokio::join!(
            service.enter(&name, at),
            service.sign_ins.link(&user, &added, &service.vault, at),
            notifications.subscribe(&user, &device),
            service.sign_ins.with_login(&known, &service.vault, &stranger, &session, at + seconds(1)),
        );
        let id = UserId::new(&user.user_id).unwrap();
        assert_eq!(service.sign_ins.logins(&id).await.unwrap(), [], "round {round}");
        assert_eq!(notifications.of(&id).await.unwrap().subscriptions, [], "round {round}");
        let sessions = service.sessions.list(&service.user(&user.user_id).await, at).await.unwrap();
        let ids: Vec<_> = sessions.iter().map(|session| &session.session_id).collect();
        assert_eq!(ids, [&entered.1.session.session_id], "round {round}");
    }
}

#[tokio::test]
async fn the_first_code_removes_the_earlier_name_and_picture() {
    let service = Service::start().await;
    let (_, entered) = service.enter("ann", now()).await;
    let id = UserId::new(&entered.user.user_id).unwrap();
    let name = ProfileChange { name: Some("Call +1 900 0000".to_owned()), ..ProfileChange::default() };
    let set = async |user: &User| {
        let picture = service.users.set_image(user, "image/png", b"a picture", now()).await.unwrap();
        (picture, service.users.change(user, &name, now()).await.unwrap())
    };
    service.unverify(&entered.user).await;
    let stranger = service.user(id.as_str()).await;
    let (picture, named) = set(&stranger).await;
    assert!(picture.is_some() && named.is_some());

    let (_, entered) = service.enter("ann", now() + seconds(60)).await;
    let bare = |user: &User| (user.name.clone(), user.image.clone());
    assert_eq!(bare(&entered.user), (None, None));
    assert_eq!(bare(&service.user(id.as_str()).await), (None, None));
    assert_eq!(service.users.image(&id).await.unwrap(), None);
    // A request that the stranger sent earlier writes nothing afterwards.
    assert_eq!(set(&stranger).await, (None, None));
    assert_eq!(service.users.image(&id).await.unwrap(), None);
    // The user's own name and picture stay after later codes.
    let own = set(&entered.user).await;
    assert!(own.0.is_some() && own.1.is_some());
    let (_, entered) = service.enter("ann", now() + seconds(120)).await;
    assert!(entered.user.name.is_some() && entered.user.image.is_some());
}

#[tokio::test]
async fn unknown_login_makes_a_user_known_login_signs_in() {
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
    // The address decides: a code signs in the same user.
    assert_eq!(service.enter("ann", now()).await.1.user.user_id, "ann");
    // The opposite does not hold: a login whose address belongs to a user must not sign in as that
    // user.
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
async fn concurrent_sign_ins_with_one_new_login_make_one_user() {
    let service = Service::start().await;
    // Some of the requests run between another one's reads of the login and of the address.
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
async fn login_has_one_user_and_last_sign_in_method_stays() {
    let service = Service::start().await;
    let (_, ann) = service.enter("ann", now()).await;
    let (_, bob) = service.enter("bob", now()).await;
    let users = [&ann.user, &bob.user];
    let nobody = User { user_id: "nobody".to_owned(), ..ann.user.clone() };
    let eves = UserId::new("eve").unwrap();
    let link =
        async |user: &User, login: &Login| service.sign_ins.link(user, login, &service.vault, now()).await.unwrap();
    let first = login("subject-1", None);
    assert_eq!(link(users[0], &first).await, LinkOutcome::Yes);
    assert_eq!(link(users[0], &first).await, LinkOutcome::Yes);
    assert_eq!(link(users[1], &first).await, LinkOutcome::Taken);
    // Of two links at once, one succeeds.
    let second = login("subject-2", None);
    let both = join_all(users.iter().map(|user| link(user, &second))).await;
    assert_eq!(both.iter().filter(|linked| **linked == LinkOutcome::Yes).count(), 1, "{both:?}");
    assert_eq!(link(&nobody, &login("subject-3", None)).await, LinkOutcome::NoUser);

    // A user with an address may remove logins.
    assert_eq!(service.sign_ins.unlink(&ann.user, "another").await.unwrap(), UnlinkOutcome::NotThere);
    assert_eq!(service.sign_ins.unlink(&ann.user, "example").await.unwrap(), UnlinkOutcome::Yes);
    assert_eq!(service.sign_ins.of_login("example", "subject-1").await.unwrap(), None);
    assert_eq!(link(users[1], &first).await, LinkOutcome::Yes);

    // Without an address the last login stays, also if two are removed at once.
    let (_, session) = service.new_session();
    let eve = login("subject-9", None);
    let eve = service.sign_ins.with_login(&eve, &service.vault, &new_user("eve"), &session, now()).await.unwrap().user;
    assert_eq!(service.sign_ins.unlink(&eve, "example").await.unwrap(), UnlinkOutcome::LastSignInMethod);
    let second = Login { provider: "second".to_owned(), ..login("subject-9", None) };
    assert_eq!(link(&eve, &second).await, LinkOutcome::Yes);
    let both = join_all(["example", "second"].map(|provider| service.sign_ins.unlink(&eve, provider))).await;
    let gone = both.iter().filter(|unlinked| matches!(unlinked, Ok(UnlinkOutcome::Yes))).count();
    assert_eq!((gone, service.sign_ins.logins(&eves).await.unwrap().len()), (1, 1), "{both:?}");
}
