//! What SQS accepts and refuses, and the queues that a program creates.

use crate::queues::{call, receive, send};
use crate::support::Stage;
use serde_json::{Value, json};
use tidemark_local::startup::RunningStack;

const QUEUES: &str = "
  Plain: { Type: AWS::SQS::Queue, Properties: { QueueName: plain } }
  Groups:
    Type: AWS::SQS::Queue
    Properties:
      QueueName: groups.fifo
      FifoQueue: true
      ContentBasedDeduplication: true
      DeduplicationScope: messageGroup
      FifoThroughputLimit: perMessageGroupId
";

async fn start() -> (Stage, RunningStack) {
    let stage = Stage::new("", "");
    stage.add_resources(QUEUES.trim_matches('\n'));
    let running = stage.start().await;
    (stage, running)
}

/// The type of a refusal, and its message.
async fn refused(running: &RunningStack, action: &str, request: Value) -> (String, String) {
    let (status, answer) = call(running, "somebody", action, request).await;
    assert_eq!(status, 400, "{answer}");
    let kind = answer["__type"].as_str().unwrap().trim_start_matches("com.amazonaws.sqs#").to_owned();
    (kind, answer["message"].as_str().unwrap().to_owned())
}

async fn done(running: &RunningStack, action: &str, request: Value) -> Value {
    let (status, answer) = call(running, "somebody", action, request).await;
    assert_eq!(status, 200, "{answer}");
    answer
}

#[tokio::test]
async fn messages_that_aws_refuses_are_refused() {
    let (_stage, running) = start().await;
    let message = |queue: &str, more: Value| {
        let mut message = json!({ "QueueUrl": queue, "MessageBody": "x" });
        message.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        message
    };
    let attribute =
        |kind: &str, value: &str| json!({ "MessageAttributes": { "n": { "DataType": kind, "StringValue": value } } });
    let invalid = "InvalidParameterValueException";
    for (request, kind, part) in [
        (message("plain", json!({ "MessageBody": "a\0" })), "InvalidMessageContents", "'#x0'"),
        (message("plain", attribute("Number", "abc")), invalid, "'n' to a number."),
        (message("plain", attribute("Text", "abc")), invalid, "Binary, Number, String."),
        (message("plain", attribute("String", "")), invalid, "non-empty value of type 'String'"),
        (message("plain", json!({ "DelaySeconds": 901 })), invalid, "DelaySeconds must be >= 0 and <= 900."),
        (message("plain", json!({ "MessageDeduplicationId": "d" })), invalid, "not valid for this queue type."),
        (
            message("groups.fifo", json!({ "MessageGroupId": "g", "DelaySeconds": 5 })),
            invalid,
            "Value 5 for parameter DelaySeconds",
        ),
        (message("groups.fifo", json!({ "MessageGroupId": "a b" })), invalid, "alphanumeric and punctuation"),
        (message("groups.fifo", json!({})), "MissingRequiredParameterException", "MessageGroupId"),
        (message("plain", json!({ "MessageSystemAttributes": { "Other": {} } })), invalid, "'Other'"),
    ] {
        let (found, sentence) = refused(&running, "SendMessage", request.clone()).await;
        assert!(found == kind && sentence.contains(part), "{request}: {found}: {sentence}");
    }
    let (_, sentence) =
        refused(&running, "ReceiveMessage", json!({ "QueueUrl": "plain", "MaxNumberOfMessages": 11 })).await;
    assert!(sentence.contains("Must be between 1 and 10"), "{sentence}");
}

#[tokio::test]
async fn batches_that_aws_refuses_send_nothing() {
    let (_stage, running) = start().await;
    let entries = |ids: &[&str], bytes: usize| -> Value {
        ids.iter().map(|id| json!({ "Id": id, "MessageBody": "x".repeat(bytes) })).collect()
    };
    let half = 512 * 1024;
    for (entries, kind) in [
        (entries(&["a", "a"], 1), "BatchEntryIdsNotDistinct"),
        (entries(&["a", "b c"], 1), "InvalidBatchEntryId"),
        (entries(&["a", "b"], half + 1), "BatchRequestTooLong"),
        (entries(&[], 1), "EmptyBatchRequest"),
        (entries(&["0", "1", "2", "3", "4", "5", "6", "7", "8", "9", "10"], 1), "TooManyEntriesInBatchRequest"),
    ] {
        let request = json!({ "QueueUrl": "plain", "Entries": entries });
        assert_eq!(refused(&running, "SendMessageBatch", request).await.0, kind);
    }
    let waiting = json!({ "QueueUrl": "plain", "AttributeNames": ["ApproximateNumberOfMessages"] });
    let answer = done(&running, "GetQueueAttributes", waiting.clone()).await;
    assert_eq!(answer["Attributes"]["ApproximateNumberOfMessages"], "0");
    done(&running, "SendMessageBatch", json!({ "QueueUrl": "plain", "Entries": entries(&["a", "b"], half) })).await;
    let answer = done(&running, "GetQueueAttributes", waiting).await;
    assert_eq!(answer["Attributes"]["ApproximateNumberOfMessages"], "2");
}

#[tokio::test]
async fn equal_texts_of_two_groups_are_two_messages() {
    let (_stage, running) = start().await;
    for group in ["g", "h", "g"] {
        done(
            &running,
            "SendMessage",
            json!({ "QueueUrl": "groups.fifo", "MessageBody": "same", "MessageGroupId": group }),
        )
        .await;
    }
    let messages = receive(&running, "groups.fifo").await;
    let groups: Vec<&Value> = messages.iter().map(|message| &message["Attributes"]["MessageGroupId"]).collect();
    assert_eq!(groups, ["g", "h"]);
    // printf same | sha256sum
    let id = "0967115f2813a3541eaef77de9d9d5773f1c0c04314b0bbfe4ff3b3b1c55b5d5";
    assert_eq!(messages[0]["Attributes"]["MessageDeduplicationId"], id);
    let names = json!({ "QueueUrl": "groups.fifo", "AttributeNames": ["DeduplicationScope", "FifoThroughputLimit"] });
    let expected = json!({ "DeduplicationScope": "messageGroup", "FifoThroughputLimit": "perMessageGroupId" });
    assert_eq!(done(&running, "GetQueueAttributes", names).await["Attributes"], expected);
}

#[tokio::test]
async fn dead_message_names_its_source_and_keeps_its_trace() {
    let (_stage, running) = start().await;
    let policy = json!({ "deadLetterTargetArn": "arn:aws:sqs:us-east-1:000000000000:plain", "maxReceiveCount": 1 });
    let attributes = json!({ "VisibilityTimeout": "0", "RedrivePolicy": policy.to_string() });
    done(&running, "CreateQueue", json!({ "QueueName": "source", "Attributes": attributes })).await;
    let trace = json!({ "AWSTraceHeader": { "DataType": "String", "StringValue": "Root=1-5759e988-bd862e3fe1be46a994272793" } });
    let request = json!({ "QueueUrl": "source", "MessageBody": "x", "MessageSystemAttributes": trace });
    assert!(done(&running, "SendMessage", request).await["MD5OfMessageSystemAttributes"].is_string());
    let first = receive(&running, "source").await.remove(0);
    assert_eq!(first["Attributes"]["AWSTraceHeader"], trace["AWSTraceHeader"]["StringValue"]);
    done(&running, "ReceiveMessage", json!({ "QueueUrl": "source" })).await;
    let dead = receive(&running, "plain").await.remove(0);
    assert_eq!(dead["Attributes"]["DeadLetterQueueSourceArn"], "arn:aws:sqs:us-east-1:000000000000:source");
    assert_eq!(dead["Attributes"]["AWSTraceHeader"], first["Attributes"]["AWSTraceHeader"]);
    let sources = done(&running, "ListDeadLetterSourceQueues", json!({ "QueueUrl": "plain" })).await;
    assert_eq!(sources, json!({ "queueUrls": ["https://sqs.us-east-1.amazonaws.com/000000000000/source"] }));
}

#[tokio::test]
async fn queues_are_created_listed_in_pages_and_deleted() {
    let (_stage, running) = start().await;
    let create =
        |name: &str, timeout: &str| json!({ "QueueName": name, "Attributes": { "VisibilityTimeout": timeout } });
    let url = done(&running, "CreateQueue", create("made", "5")).await["QueueUrl"].as_str().unwrap().to_owned();
    assert_eq!(url, "https://sqs.us-east-1.amazonaws.com/000000000000/made");
    done(&running, "CreateQueue", create("made", "5")).await;
    assert_eq!(refused(&running, "CreateQueue", create("made", "6")).await.0, "QueueNameExists");
    assert_eq!(refused(&running, "CreateQueue", create("a b", "5")).await.0, "InvalidParameterValueException");
    assert_eq!(refused(&running, "CreateQueue", create("made", "x")).await.0, "InvalidAttributeValue");
    send(&running, "made", "hello").await;
    assert_eq!(receive(&running, "made").await[0]["Body"], "hello");
    done(&running, "SetQueueAttributes", json!({ "QueueUrl": url, "Attributes": { "VisibilityTimeout": "7" } })).await;
    let names = json!({ "QueueUrl": url, "AttributeNames": ["VisibilityTimeout"] });
    assert_eq!(done(&running, "GetQueueAttributes", names).await["Attributes"]["VisibilityTimeout"], "7");
    done(&running, "TagQueue", json!({ "QueueUrl": url, "Tags": { "a": "1", "b": "2" } })).await;
    done(&running, "UntagQueue", json!({ "QueueUrl": url, "TagKeys": ["a"] })).await;
    assert_eq!(done(&running, "ListQueueTags", json!({ "QueueUrl": url })).await, json!({ "Tags": { "b": "2" } }));

    let (mut names, mut token) = (Vec::new(), Value::Null);
    for _ in 0..2 {
        let page = done(&running, "ListQueues", json!({ "MaxResults": 2, "NextToken": token })).await;
        let urls = page["QueueUrls"].as_array().unwrap().iter();
        names.extend(urls.map(|url| url.as_str().unwrap().rsplit('/').next().unwrap().to_owned()));
        token = page["NextToken"].clone();
    }
    assert_eq!((names, token), (["failures", "groups.fifo", "made", "plain"].map(str::to_owned).to_vec(), Value::Null));
    assert_eq!(refused(&running, "ListQueues", json!({ "MaxResults": 0 })).await.0, "InvalidParameterValueException");

    done(&running, "DeleteQueue", json!({ "QueueUrl": url })).await;
    assert_eq!(refused(&running, "DeleteQueue", json!({ "QueueUrl": url })).await.0, "QueueDoesNotExist");
}
