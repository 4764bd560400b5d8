"""Tests a stage that `scripts/test-deploy` deployed, from outside: `test_deployed.py STAGE CLICKS`.

Stores a click, waits until the total is CLICKS, reads the pages, and opens a game's socket. `secrets STAGE` prints the kept
secrets of the stage. `gone` fails if anything of any stage is left.
"""

import http.client
import glob
import json
import os
import sys
import time
from urllib.parse import urlparse

import boto3
from wsproto import ConnectionType, WSConnection
from wsproto.events import AcceptConnection, RejectConnection, Request, TextMessage

SYSTEMS = ("clicks", "game", "shop", "journal", "okusuri")
COUNTED_SECONDS_MAX = 120
PORT = int(os.environ["GATEWAY_PORT"])


def answer(host, method, path, body=None):
    """Sends a request to a host of MiniStack, with the headers of an HTTPS request from a browser."""
    connection = http.client.HTTPConnection("127.0.0.1", PORT, timeout=120)
    headers = {"Host": f"{host}:{PORT}", "X-Forwarded-Proto": "https", "Content-Type": "application/json", "Accept": "text/html, */*"}
    connection.request(method, path, json.dumps(body) if body is not None else None, headers)
    reply = connection.getresponse()
    return reply.status, dict((name.lower(), value) for name, value in reply.getheaders()), reply.read()


def check(holds, what, *found):
    if not holds:
        sys.exit(f"{what}: {' '.join(map(str, found))}")


def stack(stage):
    described = boto3.client("cloudformation").describe_stacks(StackName=f"tidemark-{stage}")["Stacks"][0]
    return {output["OutputKey"]: output["OutputValue"] for output in described["Outputs"]}


def local(url):
    """The host name under which MiniStack serves an AWS address."""
    name = urlparse(url).hostname
    return name.split(".")[0] + ".execute-api.localhost" if "execute-api" in name else name


def resources(stage):
    dynamodb, functions = boto3.client("dynamodb"), boto3.client("lambda")
    for system in SYSTEMS:
        check(dynamodb.describe_table(TableName=f"tidemark-{system}-{stage}")["Table"]["TableStatus"] == "ACTIVE", system)
    names = {function["FunctionName"] for page in functions.get_paginator("list_functions").paginate() for function in page["Functions"]}
    for name in sorted(os.path.basename(path) for path in glob.glob("crates/functions/*/*")):
        check(f"tidemark-{name}-{stage}" in names, "the function is missing:", name)


def clicks(web, api, expected):
    status, _, body = answer(web, "POST", "/clicks", {"userId": "ann"})
    check(status == 201, "a click was not accepted", status, body)
    until = time.monotonic() + COUNTED_SECONDS_MAX
    while True:
        status, _, body = answer(api, "GET", "/stats/total")
        counted = json.loads(body).get("totalClicks") if status == 200 else None
        if counted == expected or time.monotonic() > until:
            break
        time.sleep(0.5)
    check(counted == expected, "the click was not counted", status, body)


def pages(web):
    for path, status, words in [("/", 200, b"<html"), ("/game/", 200, b"<html"), ("/nothing/here/", 404, b"<html")]:
        found, headers, body = answer(web, "GET", path)
        check(found == status and words in body, path, found, headers, body[:300])
        check("default-src 'self'" in headers.get("content-security-policy", ""), path, "has no content security policy", headers)
    # The CDN redirects to the address with a slash. Without the CDN the page answers directly.
    found, headers, body = answer(web, "GET", "/game?a=b")
    moved = found == 301 and headers["location"] == "/game/?a=b"
    check(moved if "cloudfront" in web else b"<html" in body, "/game", found, headers)


def game(web, sockets):
    status, _, body = answer(web, "POST", "/games", {"name": "Ann"})
    check(status == 201, "the game was not created", status, body)
    made = json.loads(body)
    connection = http.client.HTTPConnection("127.0.0.1", PORT, timeout=60)
    connection.connect()
    socket, protocol = connection.sock, WSConnection(ConnectionType.CLIENT)
    path = urlparse(sockets).path
    socket.sendall(protocol.send(Request(host=f"{local(sockets)}:{PORT}", target=f"{path}?ticket={made['ticket']}")))
    said = ""
    while True:
        protocol.receive_data(socket.recv(65536) or None)
        for event in protocol.events():
            if isinstance(event, AcceptConnection):
                socket.sendall(protocol.send(TextMessage(data=json.dumps({"action": "hello", "protocol": 1}))))
            elif isinstance(event, TextMessage):
                said += event.data
                if event.message_finished:
                    check("welcome" in said, "the game does not send welcome", said[:300])
                    return
            else:
                check(not isinstance(event, RejectConnection), "the socket was refused", event)
                sys.exit(f"unexpected event of the socket: {event}")


def works(stage, expected):
    outputs = stack(stage)
    web, api = local(outputs["WebUrl"]), local(outputs["ApiUrl"])
    resources(stage)
    clicks(web, api, expected)
    pages(web)
    game(web, outputs["GameSocketsUrl"])


def secrets(stage):
    client = boto3.client("secretsmanager")
    for name in ("okusuri-key", "vapid-key"):
        print(client.get_secret_value(SecretId=f"tidemark/{stage}/{name}")["SecretString"])


def gone():
    left = [name for name in boto3.client("dynamodb").list_tables()["TableNames"] if name.startswith("tidemark-")]
    left += [secret["Name"] for secret in boto3.client("secretsmanager").list_secrets()["SecretList"]]
    left += [function["FunctionName"] for function in boto3.client("lambda").list_functions()["Functions"]]
    check(not left, "left after the deletion", *left)
    s3 = boto3.client("s3")
    for bucket in s3.list_buckets()["Buckets"]:
        found = s3.list_objects_v2(Bucket=bucket["Name"]).get("Contents", [])
        check(not found, "left in", bucket["Name"], *[item["Key"] for item in found])


match sys.argv[1:]:
    case ["secrets", stage]:
        secrets(stage)
    case ["gone"]:
        gone()
    case [stage, expected]:
        works(stage, int(expected))
