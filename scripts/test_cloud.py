"""MiniStack, a local AWS, for `scripts/test-deploy`, with additions that the template of the suite needs.

Each addition replaces an AWS feature that MiniStack lacks. None hides an error: without it the stack would not come up.
"""

import os
import re

from ministack.app import main
from ministack.services import apigateway, cloudfront, lambda_svc, secretsmanager
from ministack.services.cloudformation import provisioners

HANDLERS = provisioners._RESOURCE_HANDLERS
PORT = int(os.environ["GATEWAY_PORT"])
METHODS = {"get", "put", "post", "delete", "options", "head", "patch", "x-amazon-apigateway-any-method"}


def plain_alarm(props):
    """Turns an alarm on an expression into an alarm on the first metric of the expression."""
    stats = [metric["MetricStat"] for metric in props.get("Metrics") or [] if "MetricStat" in metric]
    if not stats:
        return props
    metric = stats[0]["Metric"]
    plain = {name: value for name, value in props.items() if name != "Metrics"}
    return {**plain, "Namespace": metric["Namespace"], "MetricName": metric["MetricName"], "Statistic": stats[0]["Stat"],
            "Period": stats[0]["Period"], "Dimensions": metric.get("Dimensions", [])}


def alarms():
    record = provisioners._cw_metric_alarm_record
    provisioners._cw_metric_alarm_record = lambda name, props: record(name, plain_alarm(props))


def http_api_bodies():
    """Creates the routes of an HTTP API from its OpenAPI document, which SAM writes."""
    create, update = HANDLERS["AWS::ApiGatewayV2::Api"]["create"], HANDLERS["AWS::ApiGatewayV2::Api"]["update"]

    def expand(api_id, body):
        apigateway._routes[api_id], apigateway._integrations[api_id] = {}, {}
        for path, operations in (body or {}).get("paths", {}).items():
            for method, operation in operations.items():
                if method not in METHODS:
                    continue
                integration = operation["x-amazon-apigateway-integration"]
                _, made = provisioners._apigw_v2_integration_create("", {
                    "ApiId": api_id, "IntegrationType": integration["type"].upper(), "IntegrationUri": integration["uri"],
                    "PayloadFormatVersion": integration["payloadFormatVersion"]}, "")
                method = "ANY" if method.startswith("x-") else method.upper()
                key = "$default" if path in ("$default", "/$default") else f"{method} {path}"
                provisioners._apigw_v2_route_create("", {
                    "ApiId": api_id, "RouteKey": key, "Target": f"integrations/{made['IntegrationId']}"}, "")

    def create_with_body(logical_id, props, stack_name):
        api_id, outputs = create(logical_id, props, stack_name)
        if props.get("Body"):
            expand(api_id, props["Body"])
        return api_id, outputs

    def update_with_body(physical_id, old_props, new_props, stack_name, logical_id=None):
        api_id, outputs = update(physical_id, old_props, new_props, stack_name, logical_id)
        if new_props.get("Body"):
            expand(api_id, new_props["Body"])
        return api_id, outputs

    HANDLERS["AWS::ApiGatewayV2::Api"].update(create=create_with_body, update=update_with_body)


def secret_imports():
    """Imports secrets by their ARN, as CloudFormation does."""

    def take_in(identifier):
        arn = identifier["Id"]
        secret = next(secret for secret in secretsmanager._secrets.values() if secret["ARN"] == arn)
        return secret["Name"], {"Id": arn, "Arn": arn}

    HANDLERS["AWS::SecretsManager::Secret"]["import"] = take_in


def socket_endpoints():
    """Replaces the AWS address at which functions post to sockets by the one of MiniStack."""
    environment = lambda_svc._provided_worker_env

    def with_endpoint(config, code_dir, port):
        variables = environment(config, code_dir, port)
        name = "AWS_ENDPOINT_URL_APIGATEWAYMANAGEMENTAPI"
        found = re.fullmatch(r"https://(\w+)\.execute-api\.[^/]+/(.+)", variables.get(name, ""))
        if found:
            variables[name] = f"http://127.0.0.1:{PORT}/_aws/execute-api/{found[1]}/{found[2]}"
        return variables

    lambda_svc._provided_worker_env = with_endpoint


def cdn_origins():
    """Supports origin groups, and origins that are APIs of MiniStack."""
    parse, parse_config = cloudfront._dataplane_origin, cloudfront.parse_distribution_dataplane_config
    fetch, target = cloudfront._fetch_from_origin, cloudfront._origin_connect_target

    def origin_of(element):
        origin = parse(element)
        found = re.fullmatch(r"(\w+)\.execute-api\..+", origin["domain_name"] or "")
        if found:
            origin.update(domain_name=f"{found[1]}.execute-api.localhost", protocol_policy="http-only", http_port=PORT)
        return origin

    def with_groups(distribution):
        parsed = parse_config(distribution)
        for group in cloudfront._dist_config_el(distribution).iter():
            if group.tag.split("}")[-1] == "OriginGroup":
                text = {child.tag.split("}")[-1]: [] for child in group.iter()}
                for child in group.iter():
                    text[child.tag.split("}")[-1]].append(child.text)
                first, second = (parsed["origins"][name] for name in text["OriginId"])
                parsed["origins"][text["Id"][0]] = {**first, "failover": (second, {int(code) for code in text["StatusCode"]})}
        return parsed

    async def fetch_or_fail_over(origin, *rest):
        answer = await fetch(origin, *rest)
        second, codes = origin.get("failover") or (None, ())
        return await fetch(second, *rest) if answer[0] in codes else answer

    def connect_target(origin, viewer_is_https):
        is_here = origin["domain_name"].endswith(".localhost")
        return ("127.0.0.1", PORT, False) if is_here else target(origin, viewer_is_https)

    cloudfront._dataplane_origin, cloudfront.parse_distribution_dataplane_config = origin_of, with_groups
    cloudfront._fetch_from_origin, cloudfront._origin_connect_target = fetch_or_fail_over, connect_target


def tumbling_windows():
    """Adds the shard and the window to the events of a mapping with a tumbling window."""
    mapping, execute, windowed = HANDLERS["AWS::Lambda::EventSourceMapping"], lambda_svc._execute_function, set()

    def noting(handler, place):
        def handle(*arguments, **named):
            properties = arguments[place]
            if properties.get("TumblingWindowInSeconds"):
                windowed.add(properties["FunctionName"].split(":")[-1])
            return handler(*arguments, **named)
        return handle

    def execute_in_window(function, event, *rest, **named):
        name = function["config"]["FunctionName"]
        if name in windowed and "Records" in event:
            event = {**event, "shardId": "shardId-00000000000000000000-00000001", "state": {}, "isFinalInvokeForWindow": False,
                     "eventSourceARN": event["Records"][0]["eventSourceARN"], "isWindowTerminatedEarly": False,
                     "window": {"start": "2025-10-02T10:30:00Z", "end": "2025-10-02T10:31:00Z"}}
        return execute(function, event, *rest, **named)

    mapping.update(create=noting(mapping["create"], 1), update=noting(mapping["update"], 2))
    lambda_svc._execute_function = execute_in_window


for addition in (tumbling_windows, cdn_origins, alarms, http_api_bodies, secret_imports, socket_endpoints):
    addition()
main()
