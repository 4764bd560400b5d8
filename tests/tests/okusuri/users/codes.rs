//! Sign-in codes, and the addresses that they are mailed to.

use super::*;

#[tokio::test]
async fn sign_in_code_is_accepted_only_once() {
    let service = Service::start().await;
    let (email, code) = (email("ann"), code("123456"));
    service.codes.issue(&email, &code, now()).await.unwrap();
    // Used twice at once: both checks succeed, but only one signs in.
    let right = join_all([0, 1].map(|_| service.codes.check(&email, &code, now()))).await;
    let ids = ["ann-1", "ann-2"].map(new_user);
    let sessions = [service.new_session(), service.new_session()];
    let entered = right.into_iter().zip(&ids).zip(&sessions).map(|((right, id), (_, session))| {
        let (sign_ins, right) = (&service.sign_ins, right.unwrap());
        async move { sign_ins.with_code(&right, id, session, now()).await }
    });
    let entered = join_all(entered).await;
    assert_eq!(entered.iter().filter(|outcome| outcome.is_ok()).count(), 1, "{entered:?}");
    assert!(entered.iter().any(|outcome| matches!(outcome, Err(SignInError::Used))), "{entered:?}");
    let again = service.codes.check(&email, &code, now()).await;
    assert!(matches!(again, Err(CheckError::Wrong { attempts_left: 4 })), "{again:?}");
    assert_eq!(service.items().await.len(), 5, "profile, marker, two of the session, and what is counted");
}

#[tokio::test]
async fn of_many_concurrent_guesses_five_are_checked() {
    let service = Service::start().await;
    let email = email("ann");
    service.codes.issue(&email, &code("000000"), now()).await.unwrap();
    let guesses: Vec<_> = (1..=40).map(Code::of_random).collect();
    let outcomes = join_all(guesses.iter().map(|guess| service.codes.check(&email, guess, now()))).await;
    let wrong = outcomes.iter().filter(|outcome| matches!(outcome, Err(CheckError::Wrong { .. }))).count();
    assert!((1..=5).contains(&wrong), "{outcomes:?}");
    // The remaining attempts of the five.
    for _ in wrong..5 {
        let outcome = service.codes.check(&email, &guesses[0], now()).await;
        assert!(matches!(outcome, Err(CheckError::Wrong { .. })), "{outcome:?}");
    }
    // Now even the right code is refused, and no new code is sent.
    let until = now() + seconds(3_600);
    let right = service.codes.check(&email, &code("000000"), now()).await;
    assert!(matches!(right, Err(CheckError::Locked(Locked(at))) if at == until), "{right:?}");
    let sent = service.codes.issue(&email, &code("111111"), now() + seconds(120)).await;
    assert!(matches!(sent, Err(IssueError::Refused(SendError::Locked(Locked(at)))) if at == until), "{sent:?}");
    service.codes.issue(&email, &code("111111"), until).await.unwrap();
    service.codes.check(&email, &code("111111"), until).await.unwrap();
}

#[tokio::test]
async fn code_is_valid_until_it_expires_or_is_replaced() {
    let service = Service::start().await;
    let email = email("ann");
    service.codes.issue(&email, &code("111111"), now()).await.unwrap();
    let again = service.codes.issue(&email, &code("222222"), now() + seconds(59)).await;
    assert!(matches!(again, Err(IssueError::Refused(SendError::JustSent(_)))), "{again:?}");
    service.codes.issue(&email, &code("222222"), now() + seconds(60)).await.unwrap();
    let old = service.codes.check(&email, &code("111111"), now() + seconds(61)).await;
    assert!(matches!(old, Err(CheckError::Wrong { attempts_left: 4 })), "{old:?}");
    let late = service.codes.check(&email, &code("222222"), now() + seconds(660)).await;
    assert!(matches!(late, Err(CheckError::Expired)), "{late:?}");
    service.codes.check(&email, &code("222222"), now() + seconds(659)).await.unwrap();
    // Of two codes that are requested at once, one is sent.
    let bob = self::email("bob");
    let codes = ["333333", "444444"].map(code);
    let sent = join_all(codes.each_ref().map(|code| service.codes.issue(&bob, code, now()))).await;
    assert_eq!(sent.iter().filter(|outcome| outcome.is_ok()).count(), 1, "{sent:?}");
}

#[tokio::test]
async fn code_counts_once_when_the_answer_is_lost() {
    let service = Service::start().await;
    let email = email("ann");
    // The SDK sends the write again, and the condition of the second attempt fails.
    let lose = || service.db.lose_answers("UpdateItem", 1);
    lose();
    service.codes.issue(&email, &code("111111"), now()).await.unwrap();
    lose();
    let wrong = service.codes.check(&email, &code("222222"), now()).await;
    assert!(matches!(wrong, Err(CheckError::Wrong { attempts_left: 4 })), "{wrong:?}");
    lose();
    service.codes.check(&email, &code("111111"), now()).await.unwrap();
    let wrong = service.codes.check(&email, &code("222222"), now()).await;
    assert!(matches!(wrong, Err(CheckError::Wrong { attempts_left: 2 })), "{wrong:?}");
}

#[tokio::test]
async fn a_code_is_valid_for_its_own_address_only() {
    let service = Service::start().await;
    service.codes.issue(&email("ann"), &code("123456"), now()).await.unwrap();
    let outcome = service.codes.check(&email("bob"), &code("123456"), now()).await;
    assert!(matches!(outcome, Err(CheckError::Wrong { attempts_left: 4 })), "{outcome:?}");
    service.codes.issue(&email("bob"), &code("654321"), now()).await.unwrap();
    let outcome = service.codes.check(&email("bob"), &code("123456"), now()).await;
    assert!(matches!(outcome, Err(CheckError::Wrong { .. })), "{outcome:?}");
}

#[tokio::test]
async fn all_spellings_of_an_address_are_one_user() {
    let service = Service::start().await;
    let (_, first) = service.enter("ann", now()).await;
    let (_, second) = service.enter("ANN", now() + seconds(60)).await;
    assert_eq!((first.is_new, second.is_new), (true, false));
    assert_eq!(first.user.user_id, second.user.user_id);
    assert_eq!(second.user.email.as_deref(), Some("ann@example.com"));
}

#[tokio::test]
async fn a_guess_does_not_reveal_whether_a_code_is_active() {
    let service = Service::start().await;
    let addresses = ["known", "expired", "nobody"].map(email);
    service.codes.issue(&addresses[0], &code("000000"), now() + seconds(3_600)).await.unwrap();
    service.codes.issue(&addresses[1], &code("000000"), now()).await.unwrap();
    let at = now() + seconds(3_600);
    for left in (0..5).rev() {
        for address in &addresses {
            let guess = service.codes.check(address, &code("123456"), at).await;
            assert!(matches!(guess, Err(CheckError::Wrong { attempts_left }) if attempts_left == left), "{address}");
        }
    }
    for address in &addresses {
        let guess = service.codes.check(address, &code("000000"), at).await;
        assert!(matches!(guess, Err(CheckError::Locked(Locked(until))) if until == at + seconds(3_600)), "{address}");
    }
}

#[tokio::test]
async fn a_strangers_guesses_do_not_lock_a_known_device() {
    let service = Service::start().await;
    let (email, known) = (email("ann"), service.codes.for_device(true));
    for guess in 1..=5 {
        service.codes.check(&email, &Code::of_random(guess), now()).await.unwrap_err();
    }
    let stranger = service.codes.issue(&email, &code("111111"), now()).await;
    assert!(matches!(stranger, Err(IssueError::Refused(SendError::Locked(_)))), "{stranger:?}");
    known.issue(&email, &code("222222"), now()).await.unwrap();
    let right = known.check(&email, &code("222222"), now()).await.unwrap();
    service.sign_ins.with_code(&right, &new_user("ann-1"), &service.new_session().1, now()).await.unwrap();
    // The code is used up, for both kinds of device.
    for codes in [&known, &service.codes] {
        let again = codes.check(&email, &code("222222"), now()).await;
        assert!(matches!(again, Err(CheckError::Wrong { .. })), "{again:?}");
    }
    // A code may be typed on another kind of device than asked for.
    let later = now() + seconds(60);
    for (asked, typed) in [(&known, &service.codes), (&service.codes, &known)] {
        let mailbox = if std::ptr::eq(asked, &known) { self::email("bob") } else { self::email("eve") };
        asked.issue(&mailbox, &code("333333"), later).await.unwrap();
        typed.check(&mailbox, &code("333333"), later).await.unwrap();
    }
    // A known device is locked by its own guesses.
    for guess in 1..=5 {
        known.check(&email, &Code::of_random(guess), later).await.unwrap_err();
    }
    let locked = known.check(&email, &code("444444"), later).await;
    assert!(matches!(locked, Err(CheckError::Locked(_))), "{locked:?}");
}

#[tokio::test]
async fn a_mailbox_has_one_limit_for_all_its_tags() {
    let service = Service::start().await;
    let mut sent = 0;
    for minute in 0..60 {
        for number in 0..2 {
            let tagged = email(&format!("ann+{minute}.{number}"));
            sent +=
                usize::from(service.codes.issue(&tagged, &code("123456"), now() + seconds(60 * minute)).await.is_ok());
        }
    }
    assert_eq!(sent, 5);
    // The code of one tag is not valid for another tag.
    service.codes.issue(&email("bob+1"), &code("123456"), now()).await.unwrap();
    let other = service.codes.check(&email("bob+2"), &code("123456"), now()).await;
    assert!(matches!(other, Err(CheckError::Wrong { .. })), "{other:?}");
    assert!(service.codes.check(&email("bob+1"), &code("123456"), now()).await.is_ok());
}

#[tokio::test]
async fn a_source_and_the_service_have_hourly_limits_of_codes() {
    let service = Service::start().await;
    let limits = CodeLimits::new(&service.db.table(Database::OKUSURI));
    let source = |address: &str| Source::of(Some(address.parse().unwrap())).unwrap();
    let (ann, bob) = (source("203.0.113.7"), source("2001:db8::1"));
    for _ in 0..60 {
        limits.send(&ann, now()).await.unwrap();
    }
    let refused = limits.send(&ann, now() + seconds(3_599)).await;
    assert!(matches!(refused, Err(IssueError::Refused(SendError::TooMany(at))) if at == now() + seconds(3_600)));
    limits.send(&bob, now()).await.unwrap();
    limits.send(&ann, now() + seconds(3_600)).await.unwrap();

    let mut sent = 0;
    for _ in 0..(SERVICE_SENDS_MAX / 50 + 1) {
        let all = join_all((0..50).map(|_| limits.send_any(MailKind::Code, now()))).await;
        sent += all.into_iter().filter(|sent| *sent.as_ref().unwrap()).count();
    }
    assert_eq!(sent, SERVICE_SENDS_MAX as usize);
    assert!(!limits.send_any(MailKind::Code, CodeLimits::next_window(now()) - seconds(1)).await.unwrap());
    assert!(limits.send_any(MailKind::Code, CodeLimits::next_window(now())).await.unwrap());
    // Reminders have a limit of their own.
    assert!(limits.send_any(MailKind::Reminder, now()).await.unwrap());
}

#[tokio::test]
async fn a_source_that_guesses_is_locked_for_longer_each_time() {
    let service = Service::start().await;
    let limits = CodeLimits::new(&service.db.table(Database::OKUSURI));
    let source = Source::of(Some([203, 0, 113, 7].into())).unwrap();
    let mut at = now();
    for hours in [1, 2, 4] {
        for _ in 0..30 {
            limits.may_guess(&source, at).await.unwrap();
            limits.wrong(&source, at).await.unwrap();
        }
        let until = at + seconds(3_600 * hours);
        let locked = limits.may_guess(&source, until - seconds(1)).await;
        assert!(matches!(locked, Err(CheckError::Locked(Locked(found))) if found == until), "{locked:?}");
        assert!(matches!(limits.send(&source, at).await, Err(IssueError::Refused(SendError::Locked(_)))));
        at = until;
    }
}
