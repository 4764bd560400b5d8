//! The lifetime of sessions, and the ways in which they end.

use super::*;

#[tokio::test]
async fn an_expired_session_is_refused_before_ttl_deletes_it() {
    let service = Service::start().await;
    let (token, entered) = service.enter("ann", now()).await;
    let end = now() + SESSION_LIFETIME;
    assert_eq!(entered.session.expires_at, end);
    assert!(service.is_signed_in(&token, end - seconds(1)).await);
    assert!(!service.is_signed_in(&token, end).await);
    assert!(!service.is_signed_in("another token", now()).await);
    // Neither the hash nor the session's id is accepted as a token.
    assert!(!service.is_signed_in(&entered.session.token_hash, now()).await);
    assert!(!service.is_signed_in(&entered.session.session_id, now()).await);
    assert!(service.items().await.iter().all(|key| !key.contains(&token)));
}

#[tokio::test]
async fn a_used_session_is_extended_at_most_once_a_day() {
    let service = Service::start().await;
    let (token, entered) = service.enter("ann", now()).await;
    let day = seconds(24 * 60 * 60);
    let (session, is_changed) = service.sessions.extend(entered.session, now() + day - seconds(1)).await.unwrap();
    assert_eq!((session.expires_at, is_changed), (now() + SESSION_LIFETIME, false));
    let (session, is_changed) = service.sessions.extend(session, now() + day).await.unwrap();
    assert_eq!((session.expires_at, is_changed), (now() + day + SESSION_LIFETIME, true));
    assert!(service.is_signed_in(&token, now() + day + SESSION_LIFETIME - seconds(1)).await);
    // A session that was ended meanwhile stays ended.
    let id = UserId::new(&entered.user.user_id).unwrap();
    assert!(service.sessions.end(&id, &session.session_id).await.unwrap());
    assert!(!service.sessions.extend(session, now() + day * 3).await.unwrap().1);
    assert!(!service.is_signed_in(&token, now() + day).await);
    assert_eq!(service.items().await.len(), 2, "the profile and the marker");
}

#[tokio::test]
async fn ending_one_session_leaves_the_others() {
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
    // The cleanup after the first write fails.
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
