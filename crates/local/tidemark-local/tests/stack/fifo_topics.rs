//! FIFO topics: groups and deduplication ids on their way to queues.

use crate::messaging::sns;
use crate::queues::receive;
use crate::support::Stage;
use serde_json::{Value, json};
use tidemark_local::startup::RunningStack;

const RESOURCES: &str = "
  Topic: { Type: AWS::SNS::Topic, Properties: { TopicName: orders.fifo, FifoTopic: true } }
  Raw:
    Type: AWS::SQS::Queue
    Properties: { QueueName: raw.fifo, FifoQueue: true }
  Wrapped:
    Type: AWS::SQS::Queue
    Properties: { QueueName: wrapped }
  ToRaw:
    Type: AWS::SNS::Subscription
    Properties: { TopicArn: !Ref Topic, Protocol: sqs, Endpoint: !GetAtt Raw.Arn, RawMessageDelivery: true }
  ToWrapped:
    Type: AWS::SNS::Subscription
    Properties: { TopicArn: !Ref Topic, Protocol: sqs, Endpoint: !GetAtt Wrapped.Arn }
";

async fn publish(running: &RunningStack, text: &str, more: &str) -> (u16, String) {
    let topic = "arn%3Aaws%3Asns%3Aus-east-1%3A000000000000%3Aorders.fifo";
    let response = sns(running, &format!("Action=Publish&TopicArn={topic}&Message={text}{more}")).await;
    (response.status().as_u16(), response.text().await.unwrap())
}

#[tokio::test]
async fn fifo_topic_passes_groups_and_deduplication_ids_to_queues() {
    let stage = Stage::new("", "");
    stage.add_resources(RESOURCES.trim_matches('\n'));
    let running = stage.start().await;
    let number = "&MessageAttributes.entry.1.Name=n&MessageAttributes.entry.1.Value.DataType=Number&MessageAttributes.entry.1.Value.StringValue=7";
    for (group, id) in [("g", "1"), ("h", "2"), ("g", "1")] {
        let (status, answer) =
            publish(&running, "same", &format!("&MessageGroupId={group}&MessageDeduplicationId={id}{number}")).await;
        assert!(status == 200 && answer.contains("<SequenceNumber>"), "{answer}");
    }
    let request = json!({
        "QueueUrl": "raw.fifo", "MaxNumberOfMessages": 10, "AttributeNames": ["All"], "MessageAttributeNames": ["All"]
    });
    let (_, answer) = crate::queues::call(&running, "somebody", "ReceiveMessage", request).await;
    let messages = answer["Messages"].as_array().unwrap();
    let ids = |message: &Value| {
        let text = |name: &str| message["Attributes"][name].as_str().unwrap().to_owned();
        (text("MessageGroupId"), text("MessageDeduplicationId"))
    };
    let expected = [("g", "1"), ("h", "2")].map(|(group, id)| (group.to_owned(), id.to_owned()));
    assert_eq!(messages.iter().map(ids).collect::<Vec<_>>(), expected);
    assert_eq!(messages[0]["MessageAttributes"]["n"], json!({ "DataType": "Number", "StringValue": "7" }));
    let wrapped = receive(&running, "wrapped").await;
    let body: Value = serde_json::from_str(wrapped[0]["Body"].as_str().unwrap()).unwrap();
    assert_eq!((wrapped.len(), &body["SequenceNumber"]), (2, &json!("00000000000000000001")));
}

#[tokio::test]
async fn fifo_topic_refuses_a_message_without_group_or_id() {
    let stage = Stage::new("", "");
    stage.add_resources(RESOURCES.trim_matches('\n'));
    let running = stage.start().await;
    for (more, part) in [
        ("", "The MessageGroupId parameter is required for FIFO topics"),
        ("&MessageGroupId=g", "ContentBasedDeduplication enabled or MessageDeduplicationId provided explicitly"),
        ("&MessageGroupId=a%20b&MessageDeduplicationId=1", "MessageGroupId Reason"),
    ] {
        let (status, answer) = publish(&running, "x", more).await;
        assert!(status == 400 && answer.contains("<Code>InvalidParameter</Code>") && answer.contains(part), "{answer}");
    }
}
