//! Cursors, tickets and player tokens: only unchanged, unexpired ones of the same key and purpose
//! are accepted.

#![no_main]

use aws_lambda_events::apigw::ApiGatewayV2httpRequest;
use jiff::{SignedDuration, Timestamp};
use lambda_kit::cursor::{CursorError, Cursors};
use lambda_kit::http::Request;
use lambda_kit::ticket::{TICKET_LIFETIME, Ticket, Tickets};
use libfuzzer_sys::arbitrary::{self, Arbitrary};
use libfuzzer_sys::fuzz_target;
use secrecy::SecretString;

#[derive(Debug, Arbitrary)]
struct Input<'a> {
    key: &'a str,
    scope: &'a str,
    other_scope: &'a str,
    position: (String, Option<u64>, Vec<i32>),
    ticket: [String; 5],
    /// Characters to replace: positions and bytes.
    changes: Vec<(u16, u8)>,
    /// Arbitrary text, as from a sender without a valid token.
    forged: String,
    at_s: u32,
    later_s: u32,
}

fn changed(text: &str, changes: &[(u16, u8)]) -> String {
    let mut bytes = text.as_bytes().to_vec();
    for (place, byte) in changes {
        let place = usize::from(*place) % bytes.len();
        bytes[place] = *byte;
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

fn request(token: &str) -> Option<Request> {
    let mut event = ApiGatewayV2httpRequest::default();
    event.headers.insert("authorization", format!("Bearer {token}").parse().ok()?);
    Some(Request::new(event))
}

fuzz_target!(|input: Input<'_>| {
    let now = Timestamp::from_second(i64::from(input.at_s)).expect("a time");
    let later = now + SignedDuration::from_secs(i64::from(input.later_s));
    let day = 24 * 60 * 60;

    let cursors = Cursors::new(SecretString::from(input.key));
    let sealed = cursors.seal(input.scope, &input.position, now).expect("JSON");
    let expected = if input.later_s <= day { Ok(input.position.clone()) } else { Err(CursorError::Expired) };
    assert_eq!(cursors.open(input.scope, &sealed, later), expected);
    if input.other_scope != input.scope {
        let opened = cursors.open::<(String, Option<u64>, Vec<i32>)>(input.other_scope, &sealed, now);
        assert_eq!(opened, Err(CursorError::Forged));
    }
    for text in [changed(&sealed, &input.changes), input.forged.clone()] {
        let opened = cursors.open::<(String, Option<u64>, Vec<i32>)>(input.scope, &text, now);
        assert!(opened.is_err() || text == sealed, "{text} opens");
    }

    let tickets = Tickets::new(SecretString::from(input.key));
    let [player_id, game_id, role, name, id] = input.ticket;
    let ticket = Ticket { player_id, game_id, role, name, id };
    let sealed = tickets.ticket(&ticket, now);
    let is_good = SignedDuration::from_secs(i64::from(input.later_s)) <= TICKET_LIFETIME;
    assert_eq!(tickets.open_ticket(&sealed, later).ok(), is_good.then(|| ticket.clone()));
    for text in [changed(&sealed, &input.changes), input.forged.clone()] {
        assert!(tickets.open_ticket(&text, now).is_err() || text == sealed, "{text} opens");
    }

    let token = tickets.player_token(&ticket.player_id, now);
    let player = |token: &str| request(token).and_then(|request| tickets.player(&request, now).ok().flatten());
    assert_eq!(player(&token), Some(ticket.player_id));
    for text in [changed(&token, &input.changes), input.forged, sealed] {
        assert!(player(&text).is_none() || text.trim() == token, "{text} is a player");
    }
});
