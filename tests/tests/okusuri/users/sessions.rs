//! Sessions: how long they last, and what ends them.

use super::*;

#[tokio::test]
async fn a_session_ends_when_its_time_is_up_though_its_item_is_still_there() {
    let service = Service::start().await;
    let (token, entered) = service.enter("ann", now()).await;
    let end = now() + SESSION_LIFETIME;
    assert_eq!(entered.session.expires_at, end);
    assert!(service.is_signed_in(&token, end - seconds(1)).await);
    assert!(!service.is_signed_in(&token, end).await);
    assert!(!service.is_signed_in("another token", now()).await);
    // Neither the hash nor the session's id is a token.
    assert!(!service.is_signed_in(&entered.session.token_hash, now()).await);
    assert!(!service.is_signed_in(&entered.session.session_id, now()).await);
    assert!(service.items().await.iter().all(|key| !key.contains(&token)));
}

#[tokio::test]
async fn a_session_that_is_used_goes_on_and_that_is_noted_once_a_day() {
    let service = Service::start().await;
    let (token, entered) = service.enter("ann", now()).await;
    let day = seconds(24 * 60 * 60);
    let (session, is_changed) = service.sessions.extend(entered.session, now() + day - seconds(1)).await.unwrap();
    assert_eq!((session.expires_at, is_changed), (now() + SESSION_LIFETIME, false));
    let (session, is_changed) = service.sessions.extend(session, now() + day).await.unwrap();
    assert_eq!((session.expires_at, is_changed), (now() + day + SESSION_LIFETIME, true));
    assert!(service.is_signed_in(&token, now() + day + SESSION_LIFETIME - seconds(1)).await);
    // One that was ended meanwhile stays so.
    let id = UserId::new(&entered.user.user_id).unwrap();
    assert!(service.sessions.end(&id, &session.session_id).await.unwrap());
    assert!(!service.sessions.extend(session, now() + day * 3).await.unwrap().1);
    assert!(!service.is_signed_in(&token, now() + day).await);
    assert_eq!(service.items().await.len(), 2, "the profile and the marker");
}

#[tokio::test]
async fn one_device_is_signed_out_and_the_others_are_not() {
    let service = Service::start().await;
    let (here, entered) = service.enter("ann", now()).await;
    let (there, other) = service.enter("ann", now() + seconds(60)).await;
    let (_, bob) = service.enter("bob", now()).await;
    let later = now() + seconds(90);
    let listed = service.sessions.list(&entered.user, later).await.unwrap();
    let ids: Vec<_> = listed.iter().map(|row| row.session_id.clone()).collect();
    assert_eq!(ids, [other.session.session_id.clone(), entered.session.session_id.clone()]);
    let id = UserId::new(&entered.user.user_id).unwrap();
    assert!(!service.sessions.end(&id, &bob.session.session_id).await.unwrap(), "another user's session is not there");
    assert!(service.sessions.end(&id, &other.session.session_id).await.unwrap());
    assert!(!service.sessions.end(&id, &other.session.session_id).await.unwrap());
    assert!(service.is_signed_in(&here, later).await);
    assert!(!service.is_signed_in(&there, later).await);
}

#[tokio::test]
async fn signing_out_everywhere_counts_from_its_first_write() {
    let service = Service::start().await;
    let (here, entered) = service.enter("ann", now()).await;
    let (there, _) = service.enter("ann", now() + seconds(60)).await;
    let (bob, _) = service.enter("bob", now()).await;
    let id = UserId::new(&entered.user.user_id).unwrap();
    let at = now() + seconds(120);
    // The cleaning up behind the first write fails.
    service.fail("BatchWriteItem", 50);
    let outcome = service.sessions.end_all(&id, at).await;
    assert!(outcome.is_err(), "the fault was not met");
    service.fail("BatchWriteItem", 0);
    for token in [&here, &there] {
        assert!(!service.is_signed_in(token, at).await);
    }
    assert!(service.is_signed_in(&bob, at).await);
    let (new, entered) = service.enter("ann", at + seconds(60)).await;
    assert!(service.is_signed_in(&new, at + seconds(60)).await);
    assert_eq!(service.sessions.list(&entered.user, at + seconds(60)).await.unwrap().len(), 1);
}
