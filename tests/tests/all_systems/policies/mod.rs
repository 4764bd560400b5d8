//! Each function's role in the template allows what the function does, and nothing besides: the
//! stack holds functions to their roles, and keeps account of which grants they needed.

mod rare;

use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tests::cases::cases;
use tests::oidc::OidcProvider;
use tests::push::PushService;
use tests::{Database, Stack, games, okusuri, samples, shop};

/// Services that Lambda itself calls with a function's role, for logs and traces. The stack plays
/// neither.
const OF_LAMBDA: [&str; 2] = ["logs:", "xray:"];

/// How long the streams may take to process the events.
const PATIENCE: Duration = Duration::from_secs(180);

/// Where people find the pages. Nobody serves them.
const PUBLIC: &str = "http://okusuri.example";

#[tokio::test]
async fn each_role_has_exactly_the_grants_that_it_uses() {
    let callback = format!("{PUBLIC}/okusuri/api/sign-in/oauth/example/callback");
    let (provider, service) = (OidcProvider::start(&[callback]).await.unwrap(), PushService::start().await.unwrap());
    let stack = Arc::new(stack(&provider, &service).await);
    // In a task of its own: where it fails for want of a grant, that grant is told, and not its
    // absence's effect.
    let played = tokio::spawn(play(Arc::clone(&stack), provider, service)).await;

    // Stream consumers run a moment later. A grant that is unused after that is unused.
    let start = Instant::now();
    loop {
        let accounts = stack.get("/_local/policies").await.unwrap().json();
        let functions = accounts["functions"].as_array().unwrap();
        assert!(functions.len() > 10, "{accounts}");
        let findings: Vec<String> = functions.iter().flat_map(findings).collect();
        if findings.is_empty() {
            return played.unwrap();
        }
        // A short run needs few grants, so only refused calls count.
        let told: Vec<_> =
            findings.into_iter().filter(|finding| played.is_ok() || finding.contains(": refused ")).collect();
        assert!(played.is_ok() && start.elapsed() < PATIENCE, "{}\n{played:?}", told.join("\n"));
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}

/// Everything that functions do.
async fn play(stack: Arc<Stack>, provider: OidcProvider, service: PushService) {
    rare::days_of_the_journal_have_grown(&stack).await;
    sample_events(&stack).await;
    rare::two_activities_have_one_id(&stack).await;
    rare::a_visitor_is_changed_between_two_visits(&stack).await;
    rare::a_reservation_expires(&stack).await;
    rare::a_seat_is_taken_over(&stack).await;
    rare::a_chat_is_long(&stack).await;
    rare::a_connection_replaces_another(&stack).await;
    rare::users_come_in_and_go(&stack, &provider, PUBLIC).await;
    rare::a_reminder_is_due(&stack, &service).await;
}

/// A stack with a provider and a push service to talk to, which keeps the journal for ever: sample
/// events grow old.
async fn stack(provider: &OidcProvider, service: &PushService) -> Stack {
    let issuer = provider.issuer();
    let providers = json!([{ "id": "example", "name": "Example", "issuer": issuer, "clientId": "okusuri", "clientSecret": "a secret of the test" }]);
    let allow = format!("{},{}", issuer.trim_start_matches("http://"), service.address());
    let parameters = [
        format!("OkusuriProviders={providers}"),
        format!("OkusuriPublicUrl={PUBLIC}"),
        "JournalRetention=default=0".to_owned(),
        // Only the test reminds.
        "OkusuriReminders=DISABLED".to_owned(),
        // More than ever before, which is noted.
        "ClickDateShards=2".to_owned(),
    ];
    let parameters = parameters.iter().flat_map(|parameter| ["--parameter", parameter]);
    // With its data kept, and so with the key that the tokens of the game's events are signed with.
    Stack::with(&["--outbound-allow", &allow].into_iter().chain(parameters).collect::<Vec<_>>()).await.unwrap()
}

/// The mistakes of a function's role: missing grants and unused grants.
fn findings(account: &Value) -> Vec<String> {
    let function = account["function"].as_str().unwrap();
    let list = |value: &Value| value.as_array().unwrap().clone();
    let mut findings: Vec<String> = list(&account["denied"])
        .iter()
        .map(|call| format!("{function}: refused {} on {} {}", call["action"], call["resource"], call["context"]))
        .collect();
    for statement in list(&account["statements"]) {
        let of_lambda = |action: &String| OF_LAMBDA.iter().any(|service| action.starts_with(service));
        if statement["actions"].as_object().unwrap().keys().all(of_lambda) {
            continue;
        }
        for (kind, member) in [("action", "actions"), ("resource", "resources"), ("value", "patterns")] {
            for (name, needed) in statement[member].as_object().unwrap() {
                // SES alone checks it, of identities that have such a set.
                if needed == 0 && !name.contains(":configuration-set/") {
                    let (policy, line) = (&statement["policy"].as_str().unwrap(), &statement["line"]);
                    findings.push(format!(
                        "{function}: {policy} (template.yaml, line {line}): no call needs the {kind} {name}"
                    ));
                }
            }
        }
    }
    findings
}

/// Every sample event, each in its world.
async fn sample_events(stack: &Stack) {
    let client = stack.dynamodb();
    let now_ms = u64::try_from(jiff::Timestamp::now().as_millisecond()).unwrap();
    samples::clicks(stack).await;
    games::play_samples(&client, Database::GAMES, now_ms).await.unwrap();
    stack.wait_for_games().await.unwrap();
    samples::journal(stack).await;
    samples::activities(stack).await;
    shop::stock_samples(&client, Database::SHOP).await.unwrap();
    shop::price_samples(&client, Database::SHOP).await.unwrap();
    okusuri::samples(&client).await.unwrap();
    for function in functions(stack).await {
        for (number, case) in cases(&function).into_iter().enumerate() {
            let event = match function.starts_with("ws-") {
                true => samples::at_a_game(stack, &case, number).await,
                false => case.event,
            };
            // An answer is not at stake here: `sample_events.rs` has them.
            let _ = stack.invoke(&function, &event).await.unwrap();
        }
    }
}

/// The functions' binaries.
async fn functions(stack: &Stack) -> Vec<String> {
    let health = stack.get("/_local/health").await.unwrap().json();
    let functions = health["functions"].as_array().unwrap().iter();
    functions.map(|function| function["binary"].as_str().unwrap().to_owned()).collect()
}
