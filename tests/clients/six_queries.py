"""The six queries of the clicks table's design, by boto3. Prints their answers as JSON, one a line."""

import json
import sys

import boto3
from boto3.dynamodb.conditions import Key

table = boto3.resource(
    "dynamodb",
    endpoint_url=sys.argv[1],
    region_name="us-east-1",
    aws_access_key_id="local",
    aws_secret_access_key="local",
).Table("qit-db-local")

user = Key("userId").eq("user-123")
between = Key("createDateTime").between("2025-10-01T00:00:00.000Z", "2025-10-02T23:59:59.999Z")
day = Key("dateKey").eq("DATE#2025-10-02")
answers = [
    table.query(KeyConditionExpression=user)["Items"],
    table.query(KeyConditionExpression=user & between)["Items"],
    table.query(IndexName="DateIndex", KeyConditionExpression=day)["Items"],
    table.query(IndexName="DateIndex", KeyConditionExpression=day & Key("recordSort").eq("STAT#DAILY"))["Items"],
    table.query(
        IndexName="DateIndex",
        KeyConditionExpression=Key("dateKey").eq("MONTH#2025-10") & Key("recordSort").eq("STAT#MONTHLY"),
    )["Items"],
    [table.get_item(Key={"userId": "STAT#TOTAL", "createDateTime": "METADATA"})["Item"]],
]
for items in answers:
    print(json.dumps(items, default=int, sort_keys=True))
