//! Codes, and the addresses that they are mailed to.

use super::*;

#[tokio::test]
async fn a_code_opens_once_and_the_second_time_is_like_no_code_at_all() {
    let service = Service::start().await;
    let (email, code) = (email("ann"), code("123456"));
    service.codes.issue(&email, &code, now()).await.unwrap();
    // Twice at once: both are right, and one comes in.
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
    assert!(matches!(again, Err(CheckError::Refused(GuessError::Expired))), "{again:?}");
    assert_eq!(service.items().await.len(), 4, "profile, marker, and two of the session");
}

#[tokio::test]
async fn of_many_guesses_at_once_five_are_looked_at() {
    let service = Service::start().await;
    let email = email("ann");
    service.codes.issue(&email, &code("000000"), now()).await.unwrap();
    let guesses: Vec<_> = (1..=40).map(Code::of_random).collect();
    let outcomes = join_all(guesses.iter().map(|guess| service.codes.check(&email, guess, now()))).await;
    let wrong = outcomes.iter().filter(|outcome| matches!(outcome, Err(CheckError::Wrong { .. }))).count();
    assert!((1..=5).contains(&wrong), "{outcomes:?}");
    // Whatever is left of the five.
    for _ in wrong..5 {
        let outcome = service.codes.check(&email, &guesses[0], now()).await;
        assert!(matches!(outcome, Err(CheckError::Wrong { .. })), "{outcome:?}");
    }
    // Now not even the right one, and no other is sent.
    let until = now() + seconds(3_600);
    let right = service.codes.check(&email, &code("000000"), now()).await;
    assert!(matches!(right, Err(CheckError::Refused(GuessError::Locked(at))) if at == until), "{right:?}");
    let sent = service.codes.issue(&email, &code("111111"), now() + seconds(120)).await;
    assert!(matches!(sent, Err(IssueError::Refused(SendError::Locked(at))) if at == until), "{sent:?}");
    service.codes.issue(&email, &code("111111"), until).await.unwrap();
    service.codes.check(&email, &code("111111"), until).await.unwrap();
}

#[tokio::test]
async fn a_code_is_good_until_it_expires_or_another_is_sent() {
    let service = Service::start().await;
    let email = email("ann");
    service.codes.issue(&email, &code("111111"), now()).await.unwrap();
    let again = service.codes.issue(&email, &code("222222"), now() + seconds(59)).await;
    assert!(matches!(again, Err(IssueError::Refused(SendError::TooMany(_)))), "{again:?}");
    service.codes.issue(&email, &code("222222"), now() + seconds(60)).await.unwrap();
    let old = service.codes.check(&email, &code("111111"), now() + seconds(61)).await;
    assert!(matches!(old, Err(CheckError::Wrong { attempts_left: 4 })), "{old:?}");
    let late = service.codes.check(&email, &code("222222"), now() + seconds(660)).await;
    assert!(matches!(late, Err(CheckError::Refused(GuessError::Expired))), "{late:?}");
    service.codes.check(&email, &code("222222"), now() + seconds(659)).await.unwrap();
    // Of two that are asked for at once, one is sent.
    let bob = self::email("bob");
    let codes = ["333333", "444444"].map(code);
    let sent = join_all(codes.each_ref().map(|code| service.codes.issue(&bob, code, now()))).await;
    assert_eq!(sent.iter().filter(|outcome| outcome.is_ok()).count(), 1, "{sent:?}");
}

#[tokio::test]
async fn a_code_of_one_address_is_none_of_another() {
    let service = Service::start().await;
    service.codes.issue(&email("ann"), &code("123456"), now()).await.unwrap();
    let outcome = service.codes.check(&email("bob"), &code("123456"), now()).await;
    assert!(matches!(outcome, Err(CheckError::Refused(GuessError::Expired))), "{outcome:?}");
    service.codes.issue(&email("bob"), &code("654321"), now()).await.unwrap();
    let outcome = service.codes.check(&email("bob"), &code("123456"), now()).await;
    assert!(matches!(outcome, Err(CheckError::Wrong { .. })), "{outcome:?}");
}

#[tokio::test]
async fn an_address_is_one_user_however_it_is_spelled() {
    let service = Service::start().await;
    let (_, first) = service.enter("ann", now()).await;
    let (_, second) = service.enter("ANN", now() + seconds(60)).await;
    assert_eq!((first.is_new, second.is_new), (true, false));
    assert_eq!(first.user.user_id, second.user.user_id);
    assert_eq!(second.user.email.as_deref(), Some("ann@example.com"));
}
