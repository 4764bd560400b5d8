//! Reading statistics.

use super::*;

#[tokio::test]
async fn statistics_are_read_by_range_page_rank_and_csv() {
    let world = World::new(Layout::Sums).await;
    let sales = [
        ("2025-10-02", "lamp", 500),
        ("2025-10-04", "lamp", 250),
        ("2025-10-04", "a#b", 1_000),
        ("2025-10-04", "cup", 1),
    ];
    let images: Vec<_> =
        sales.iter().zip(1..).map(|((day, product, cents), id)| image(id, day, product, "ann", *cents)).collect();
    let records: Vec<_> = images.iter().zip(1..).map(|(image, number)| record(number, None, Some(image))).collect();
    world.handle(&event(&records)).await.unwrap();
    let rollup = world.aggregator.rollup();
    let lamp = || rollup.query("daily").with("product", "lamp").between(date(2025, 10, 1), date(2025, 10, 4));

    let series = lamp().series(&world.table).await.unwrap();
    let csv = lamp().csv(&series).unwrap();
    let expected = "product,day,sales,revenue,basketSum,basketCount,customers\r\nlamp,2025-10-01,0,0,0,0,0\r\n\
        lamp,2025-10-02,1,5.00,500,1,1\r\nlamp,2025-10-03,0,0,0,0,0\r\nlamp,2025-10-04,1,2.50,250,1,1\r\n";
    assert_eq!(csv.replace(",5,", ",5.00,").replace(",2.5,", ",2.50,"), expected);

    let first = lamp().limit(1).page(&world.table).await.unwrap();
    assert_eq!(first.stats[0].values, ["lamp", "2025-10-02"]);
    let second = lamp().limit(1).after(first.next.unwrap()).page(&world.table).await.unwrap();
    assert_eq!(second.stats[0].values, ["lamp", "2025-10-04"]);
    let last = lamp().descending().limit(1).page(&world.table).await.unwrap();
    assert_eq!(last.stats, second.stats);

    let top = rollup.query("daily").with("day", "2025-10-04").limit(2);
    let top = top.top(&world.table, "ByRevenue", "top", "revenue").await.unwrap();
    let products: Vec<_> = top.iter().map(|stat| stat.values[0].as_str()).collect();
    assert_eq!(products, ["a#b", "lamp"]);
    let other = rollup.query("daily").with("day", "2025-10-04");
    let other = other.top(&world.table, "ByRevenue", "top", "sales").await.unwrap_err().to_string();
    assert!(other.contains("ValidationException"), "{other}");
}

#[tokio::test]
async fn a_number_that_cannot_be_read_is_an_error() {
    let world = World::new(Layout::Sums).await;
    let total = async || world.aggregator.rollup().query("total").one(&world.table).await.unwrap();
    assert_eq!(total().await.number("sales").unwrap(), 0);
    for wrong in ["sale", "basket"] {
        assert_eq!(
            total().await.number(wrong).unwrap_err().to_string(),
            format!("there is no measure `{wrong}` in the statistic")
        );
    }
    let image = image(1, "2025-10-02", "lamp", "ann", 1_390);
    world.handle(&event(&[record(1, None, Some(&image))])).await.unwrap();
    // 13.90 comes as 13.9.
    assert_eq!(total().await.decimal("revenue").unwrap().to_string(), "13.9");
    assert!(total().await.number("revenue").is_err());

    let lowest = Rollup::<Sale>::builder("lowest").on_modify(Policy::Keep).on_remove(Policy::Keep);
    let lowest = lowest.measure("lowest", rollup::minimum(|sale: &Sale| sale.cents));
    let lowest = lowest.group(Group::new("total").key("STAT#LOWEST", "-")).build().unwrap();
    let lowest = lowest.query("total").one(&world.table).await.unwrap();
    assert_eq!(lowest.extreme("lowest").unwrap(), None);
}

#[tokio::test]
async fn a_query_that_does_not_fit_the_declaration_is_refused() {
    let world = World::new(Layout::Sums).await;
    let rollup = world.aggregator.rollup();
    let error = |outcome: Result<_, rollup::ReadError>| outcome.map(|_: rollup::Page| ()).unwrap_err().to_string();
    assert_eq!(error(rollup.query("dayly").page(&world.table).await), "there is no group `dayly`");
    let wrong = rollup.query("daily").with("color", "red").page(&world.table).await;
    assert_eq!(error(wrong), "there is no dimension `color` in `daily`");
    let wrong = rollup.query("daily").with("day", "2025-10-02").page(&world.table).await;
    assert_eq!(error(wrong), "the key of group `daily` needs a value for `product`");
    let wrong = rollup.query("daily").with("product", "lamp").between(date(2025, 10, 4), date(2025, 10, 1));
    assert_eq!(error(wrong.page(&world.table).await), "the range from 2025-10-04 to 2025-10-01 ends before it begins");
    let wrong = rollup.query("total").between(date(2025, 10, 1), date(2025, 10, 4)).page(&world.table).await;
    assert_eq!(error(wrong), "group `total` cannot be read by a range: its sort key does not begin with the window");
}
