//! What a key was told stays true: an attempt that comes late does not do what its client was
//! refused.

use super::*;

fn refused<T: std::fmt::Debug>(outcome: &Result<ChangeOutcome<T>, ChangeError<StockChangeRefusal>>) -> bool {
    matches!(outcome, Err(ChangeError::Refused(_) | ChangeError::RefusedBefore(_)))
}

#[tokio::test]
async fn refused_movement_stays_refused_when_stock_arrives() {
    let db = with_cups(2).await;
    let out = movement("OUT", 5, "k", 10);
    let first = stock(&db).change(&out).await;
    assert!(refused(&first), "{first:?}");
    stock(&db).change(&movement("IN", 10, "more", 11)).await.unwrap();
    // The attempt that began first, and one that comes weeks later: both say what the key was told,
    // with the level of then.
    for late in [out.clone(), movement("OUT", 5, "k", 20 * 24 * 60 * 60)] {
        let Err(ChangeError::RefusedBefore(StockChangeRefusal::Stock(why))) = stock(&db).change(&late).await else {
            panic!("it took effect")
        };
        assert_eq!((why.level().stock(), level(&db).await), (2, (12, 0)));
    }
    let other = stock(&db).change(&movement("OUT", 4, "k", 12)).await;
    assert!(matches!(other, Err(ChangeError::Reused(Reused::Key))), "{other:?}");
    assert!(stock(&db).change(&movement("OUT", 5, "another key", 12)).await.is_ok());
    assert_sound(&db).await;
}

#[tokio::test]
async fn an_order_without_a_key_is_refused_for_a_minute() {
    let db = with_cups(2).await;
    assert!(refused(&stock(&db).change(&for_order("OUT", 5, "o-1", 10)).await));
    assert!(refused(&reservations(&db).reserve(&reservation("o-2", 5, 900, 10)).await));
    stock(&db).change(&movement("IN", 20, "more", 11)).await.unwrap();
    // An attempt that began before it was refused has that moment, however late it comes.
    for seconds in [5, 12, 69] {
        assert!(refused(&stock(&db).change(&for_order("OUT", 5, "o-1", seconds)).await), "{seconds}");
        assert!(refused(&reservations(&db).reserve(&reservation("o-2", 5, 900, seconds)).await), "{seconds}");
    }
    assert!(reservations(&db).reserve(&reservation("o-2", 4, 900, 12)).await.is_ok(), "fewer is another request");
    assert!(stock(&db).change(&for_order("OUT", 5, "o-1", 70)).await.is_ok());
    assert!(refused(&stock(&db).change(&for_order("OUT", 50, "o-3", 70)).await));
    stock(&db).change(&movement("IN", 50, "more again", 71)).await.unwrap();
    assert!(stock(&db).change(&for_order("OUT", 50, "o-3", 200)).await.is_ok());
    assert_sound(&db).await;
}

#[tokio::test]
async fn late_commit_stays_refused_on_a_slow_clock() {
    let db = with_cups(4).await;
    reservations(&db).reserve(&reservation("o-1", 4, 60, 0)).await.unwrap();
    for seconds in [60, 59, 60] {
        let commit = reservations(&db).commit(&cup(), &order("o-1"), at(seconds), Uuid::now_v7()).await;
        let why = SettleError::Expired(at(60));
        assert!(matches!(commit, Err(ChangeError::Refused(SettleRefusal::Settled(found))) if found == why));
    }
    assert_eq!(level(&db).await, (4, 0));
    assert_eq!(kept(&db).await["o-1"].0, "EXPIRED");
    assert_sound(&db).await;
}

#[tokio::test]
async fn overdue_reservation_is_found_cheaply_among_thousands_settled() {
    let db = with_cups(10).await;
    let item = |n: i64| {
        let text = |text: &str| AttributeValue::S(text.to_owned());
        let mut item: std::collections::HashMap<_, _> = [
            ("PK", text("PRODUCT#cup")),
            ("SK", text(&format!("RESERVATION#a-{n}"))),
            ("ProductId", text("cup")),
            ("OrderId", text(&format!("a-{n}"))),
            ("EntityType", text("RESERVATION")),
            ("State", text("COMMITTED")),
        ]
        .map(|(name, value)| (name.to_owned(), value))
        .into();
        item.insert("Padding".to_owned(), text(&"x".repeat(9_000)));
        item
    };
    // Over 10 MB, and before the overdue one in the order of keys.
    for n in 0..1_200 {
        db.client.put_item().table_name(Database::SHOP).set_item(Some(item(n))).send().await.unwrap();
    }
    reservations(&db).reserve(&reservation("late", 10, 60, 0)).await.unwrap();
    assert!(stock(&db).change(&movement("OUT", 10, "all", 60)).await.is_ok());
    let query = db.client.query().table_name(Database::SHOP).index_name("open-reservations");
    let query = query.key_condition_expression("OpenOf = :product");
    let query = query.expression_attribute_values(":product", AttributeValue::S("PRODUCT#cup".to_owned()));
    assert_eq!(query.send().await.unwrap().count(), 0, "only open ones are in the index");
}
