//! The policies that a function's `Policies` may name: SAM's policy templates and AWS's managed
//! policies, as far as they concern services of this machine.
//!
//! Sources: <https://docs.aws.amazon.com/serverless-application-model/latest/developerguide/serverless-policy-template-list.html>
//! and <https://docs.aws.amazon.com/aws-managed-policy/latest/reference/policy-list.html>.

/// Actions and the resources that they are allowed on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct KnownStatement {
    pub(super) actions: &'static [&'static str],
    /// Each is `*`, or an ARN after its account, in which `{}` is the first parameter. The service
    /// is that of the first action.
    pub(super) resources: &'static [&'static str],
}

/// A policy template: its name, the name of its first parameter, and its statements.
pub(super) struct PolicyTemplate {
    pub(super) name: &'static str,
    pub(super) parameter: &'static str,
    pub(super) statements: &'static [KnownStatement],
}

const TABLE: &[&str] = &["table/{}", "table/{}/index/*"];
const BUCKET: &[&str] = &["{}", "{}/*"];

const fn template(
    name: &'static str,
    parameter: &'static str,
    statements: &'static [KnownStatement],
) -> PolicyTemplate {
    PolicyTemplate { name, parameter, statements }
}

const fn allow(actions: &'static [&'static str], resources: &'static [&'static str]) -> KnownStatement {
    KnownStatement { actions, resources }
}

const TEMPLATES: [PolicyTemplate; 25] = [
    template(
        "DynamoDBCrudPolicy",
        "TableName",
        &[allow(
            &[
                "dynamodb:GetItem",
                "dynamodb:DeleteItem",
                "dynamodb:PutItem",
                "dynamodb:Scan",
                "dynamodb:Query",
                "dynamodb:UpdateItem",
                "dynamodb:BatchWriteItem",
                "dynamodb:BatchGetItem",
                "dynamodb:DescribeTable",
                "dynamodb:ConditionCheckItem",
            ],
            TABLE,
        )],
    ),
    template(
        "DynamoDBReadPolicy",
        "TableName",
        &[allow(
            &["dynamodb:GetItem", "dynamodb:Scan", "dynamodb:Query", "dynamodb:BatchGetItem", "dynamodb:DescribeTable"],
            TABLE,
        )],
    ),
    template(
        "DynamoDBWritePolicy",
        "TableName",
        &[allow(&["dynamodb:PutItem", "dynamodb:UpdateItem", "dynamodb:BatchWriteItem"], TABLE)],
    ),
    template("DynamoDBReconfigurePolicy", "TableName", &[allow(&["dynamodb:UpdateTable"], &["table/{}"])]),
    template("DynamoDBBackupFullAccessPolicy", "TableName", &[]),
    template("DynamoDBRestoreFromBackupPolicy", "TableName", &[]),
    template(
        "DynamoDBStreamReadPolicy",
        "TableName",
        &[allow(
            &["dynamodb:DescribeStream", "dynamodb:GetRecords", "dynamodb:GetShardIterator", "dynamodb:ListStreams"],
            &["table/{}/stream/*"],
        )],
    ),
    template(
        "SQSPollerPolicy",
        "QueueName",
        &[allow(
            &["sqs:ChangeMessageVisibility", "sqs:DeleteMessage", "sqs:GetQueueAttributes", "sqs:ReceiveMessage"],
            &["{}"],
        )],
    ),
    template("SQSSendMessagePolicy", "QueueName", &[allow(&["sqs:SendMessage*"], &["{}"])]),
    template("SNSPublishMessagePolicy", "TopicName", &[allow(&["sns:Publish"], &["{}"])]),
    template(
        "SNSCrudPolicy",
        "TopicName",
        &[allow(&["sns:ListSubscriptionsByTopic", "sns:SetTopicAttributes", "sns:Subscribe", "sns:Publish"], &["{}*"])],
    ),
    template("EventBridgePutEventsPolicy", "EventBusName", &[allow(&["events:PutEvents"], &["event-bus/{}"])]),
    template("LambdaInvokePolicy", "FunctionName", &[allow(&["lambda:InvokeFunction"], &["function:{}*"])]),
    template(
        "AWSSecretsManagerGetSecretValuePolicy",
        "SecretArn",
        &[allow(&["secretsmanager:GetSecretValue"], &["{}"])],
    ),
    template(
        "S3ReadPolicy",
        "BucketName",
        &[allow(&["s3:GetObject*", "s3:ListBucket", "s3:GetBucketLocation"], BUCKET)],
    ),
    template("S3WritePolicy", "BucketName", &[allow(&["s3:PutObject", "s3:PutObjectAcl"], BUCKET)]),
    template(
        "S3CrudPolicy",
        "BucketName",
        &[allow(
            &[
                "s3:GetObject",
                "s3:GetObjectVersion",
                "s3:ListBucket",
                "s3:GetBucketLocation",
                "s3:PutObject",
                "s3:PutObjectAcl",
                "s3:DeleteObject",
            ],
            BUCKET,
        )],
    ),
    template(
        "S3FullAccessPolicy",
        "BucketName",
        &[allow(
            &["s3:GetObject*", "s3:PutObject*", "s3:DeleteObject*", "s3:ListBucket", "s3:GetBucketLocation"],
            BUCKET,
        )],
    ),
    template("SESCrudPolicy", "IdentityName", &[allow(&["ses:SendEmail", "ses:SendRawEmail"], &["identity/{}"])]),
    template(
        "SESBulkTemplatedCrudPolicy",
        "IdentityName",
        &[allow(&["ses:SendEmail", "ses:SendRawEmail", "ses:SendTemplatedEmail"], &["identity/{}"])],
    ),
    template(
        "SESBulkTemplatedCrudPolicy_v2",
        "IdentityName",
        &[allow(&["ses:SendEmail", "ses:SendRawEmail", "ses:SendTemplatedEmail"], &["identity/{}"])],
    ),
    template(
        "KinesisCrudPolicy",
        "StreamName",
        &[allow(
            &[
                "kinesis:DescribeStream",
                "kinesis:DescribeStreamSummary",
                "kinesis:GetShardIterator",
                "kinesis:PutRecord",
                "kinesis:PutRecords",
            ],
            &["stream/{}"],
        )],
    ),
    template(
        "KinesisStreamReadPolicy",
        "StreamName",
        &[
            allow(
                &[
                    "kinesis:DescribeStream",
                    "kinesis:DescribeStreamSummary",
                    "kinesis:GetRecords",
                    "kinesis:GetShardIterator",
                ],
                &["stream/{}"],
            ),
            allow(&["kinesis:ListStreams"], &["stream/*"]),
        ],
    ),
    template(
        "SSMParameterReadPolicy",
        "ParameterName",
        &[allow(&["ssm:GetParameters", "ssm:GetParameter", "ssm:GetParametersByPath"], &["parameter/{}"])],
    ),
    template(
        "SSMParameterWithSlashPrefixReadPolicy",
        "ParameterName",
        &[allow(&["ssm:GetParameters", "ssm:GetParameter", "ssm:GetParametersByPath"], &["parameter{}"])],
    ),
];

/// Managed policies. Those for logs, traces and networks grant nothing that is checked here.
const MANAGED: [(&str, &[KnownStatement]); 33] = [
    ("AdministratorAccess", &[allow(&["*"], &["*"])]),
    ("PowerUserAccess", &[allow(&["*"], &["*"])]),
    ("AWSLambdaBasicExecutionRole", &[]),
    ("AWSLambdaExecute", &[allow(&["s3:GetObject", "s3:PutObject"], &["*"])]),
    ("AWSLambdaVPCAccessExecutionRole", &[]),
    ("AWSLambdaENIManagementAccess", &[]),
    ("AWSXRayDaemonWriteAccess", &[]),
    ("AWSXrayWriteOnlyAccess", &[]),
    ("CloudWatchLambdaInsightsExecutionRolePolicy", &[]),
    ("CloudWatchLambdaApplicationSignalsExecutionRolePolicy", &[]),
    ("CloudWatchLogsFullAccess", &[]),
    ("CloudWatchFullAccess", &[]),
    ("CloudWatchPutMetricPolicy", &[]),
    (
        "AWSLambdaDynamoDBExecutionRole",
        &[allow(
            &["dynamodb:DescribeStream", "dynamodb:GetRecords", "dynamodb:GetShardIterator", "dynamodb:ListStreams"],
            &["*"],
        )],
    ),
    (
        "AWSLambdaInvocation-DynamoDB",
        &[allow(&["lambda:InvokeFunction", "dynamodb:*Stream*", "dynamodb:GetRecords"], &["*"])],
    ),
    (
        "AWSLambdaSQSQueueExecutionRole",
        &[allow(&["sqs:ReceiveMessage", "sqs:DeleteMessage", "sqs:GetQueueAttributes"], &["*"])],
    ),
    (
        "AWSLambdaKinesisExecutionRole",
        &[allow(
            &[
                "kinesis:DescribeStream",
                "kinesis:DescribeStreamSummary",
                "kinesis:GetRecords",
                "kinesis:GetShardIterator",
                "kinesis:ListShards",
                "kinesis:ListStreams",
                "kinesis:SubscribeToShard",
            ],
            &["*"],
        )],
    ),
    ("AWSLambda_FullAccess", &[allow(&["lambda:*"], &["*"])]),
    ("AWSLambdaRole", &[allow(&["lambda:InvokeFunction"], &["*"])]),
    ("AmazonDynamoDBFullAccess", &[allow(&["dynamodb:*"], &["*"])]),
    ("AmazonDynamoDBFullAccess_v2", &[allow(&["dynamodb:*"], &["*"])]),
    (
        "AmazonDynamoDBReadOnlyAccess",
        &[allow(
            &[
                "dynamodb:BatchGetItem",
                "dynamodb:Describe*",
                "dynamodb:Get*",
                "dynamodb:List*",
                "dynamodb:Query",
                "dynamodb:Scan",
            ],
            &["*"],
        )],
    ),
    ("AmazonS3FullAccess", &[allow(&["s3:*"], &["*"])]),
    ("AmazonS3ReadOnlyAccess", &[allow(&["s3:Get*", "s3:List*", "s3:Describe*"], &["*"])]),
    ("AmazonSQSFullAccess", &[allow(&["sqs:*"], &["*"])]),
    ("AmazonSQSReadOnlyAccess", &[allow(&["sqs:GetQueueAttributes", "sqs:GetQueueUrl", "sqs:List*"], &["*"])]),
    ("AmazonSNSFullAccess", &[allow(&["sns:*"], &["*"])]),
    ("AmazonEventBridgeFullAccess", &[allow(&["events:*"], &["*"])]),
    ("AmazonKinesisFullAccess", &[allow(&["kinesis:*"], &["*"])]),
    ("AmazonSESFullAccess", &[allow(&["ses:*"], &["*"])]),
    ("SecretsManagerReadWrite", &[allow(&["secretsmanager:*"], &["*"])]),
    ("AmazonSSMReadOnlyAccess", &[allow(&["ssm:Describe*", "ssm:Get*", "ssm:List*"], &["*"])]),
    ("AmazonSSMFullAccess", &[allow(&["ssm:*"], &["*"])]),
];

/// The policy template of this name.
pub(super) fn policy_template(name: &str) -> Option<&'static PolicyTemplate> {
    TEMPLATES.iter().find(|template| template.name == name)
}

/// The statements of the managed policy with this name or ARN.
pub(super) fn managed(name: &str) -> Option<&'static [KnownStatement]> {
    let name = match name.strip_prefix("arn:").and_then(|arn| arn.split_once(":iam::aws:policy/")) {
        Some((_, path)) => path.rsplit('/').next().unwrap_or(path),
        // `Policies` also takes the path without the ARN's beginning.
        None => name.strip_prefix("service-role/").unwrap_or(name),
    };
    MANAGED.iter().find(|(known, _)| *known == name).map(|(_, statements)| *statements)
}
