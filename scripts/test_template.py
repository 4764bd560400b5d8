"""Checks the expanded template for errors that cfn-lint and an emulator do not find: `test_template.py`.

Each check must pass on the template, and must find each fault that is planted for it.
"""

import copy
import json
import os
import re
import sys

import yaml
from samtranslator.translator.transform import transform

os.environ.setdefault("AWS_DEFAULT_REGION", "eu-central-1")
# https://docs.aws.amazon.com/lambda/latest/dg/gettingstarted-limits.html
POLICY_BYTES_MAX = 20_480
# Values of the longest length that appear in a statement of a resource policy.
ACCOUNT, REGION, STACK = "123456789012", "ap-northeast-1", "tidemark-a-stage-16-long"
SUFFIX = "ABCDEFGHIJKL"
PATTERN_OPERATORS = {"prefix", "suffix", "exists", "numeric", "anything-but", "equals-ignore-case"}


class Loader(yaml.SafeLoader):
    """YAML with the short forms of CloudFormation."""


def short_form(loader, suffix, node):
    name = suffix if suffix in ("Ref", "Condition") else f"Fn::{suffix}"
    if isinstance(node, yaml.ScalarNode):
        value = loader.construct_scalar(node)
        return {name: value.split(".", 1) if suffix == "GetAtt" else value}
    construct = loader.construct_sequence if isinstance(node, yaml.SequenceNode) else loader.construct_mapping
    return {name: construct(node, deep=True)}


Loader.add_multi_constructor("!", short_form)


class NoPolicies:
    """SAM asks for the managed policies of AWS; the template uses none."""

    def load(self):
        return {}


def expanded():
    with open("template.yaml", encoding="utf-8") as file:
        template = yaml.load(file, Loader)
    for resource in template["Resources"].values():
        if resource["Type"] == "AWS::Serverless::Function":
            resource["Properties"]["CodeUri"] = "s3://bucket/key"
    template["Globals"]["Function"].pop("CodeUri")
    return json.loads(json.dumps(transform(template, {"Stage": "dev"}, NoPolicies())))


def of_type(template, kind):
    return {name: resource for name, resource in template["Resources"].items() if resource["Type"] == kind}


def walk(value):
    yield value
    if isinstance(value, (dict, list)):
        for part in value.values() if isinstance(value, dict) else value:
            yield from walk(part)


def names(value):
    """The resources and parameters that a value refers to."""
    for part in walk(value):
        if not isinstance(part, dict):
            continue
        if isinstance(part.get("Ref"), str):
            yield part["Ref"]
        if "Fn::GetAtt" in part:
            target = part["Fn::GetAtt"]
            yield target[0] if isinstance(target, list) else target.split(".")[0]
        if "Fn::Sub" in part:
            text, own = part["Fn::Sub"] if isinstance(part["Fn::Sub"], list) else (part["Fn::Sub"], {})
            for name in re.findall(r"\$\{([^!}]+)\}", text):
                if name not in own:
                    yield name.split(".")[0]


def text(value, lengths):
    """A value, with every reference at its longest."""
    if isinstance(value, str):
        return value
    if "Ref" in value:
        return lengths.get(value["Ref"], "9" * 10)
    if "Fn::GetAtt" in value:
        return "x" * 110
    text_, own = value["Fn::Sub"] if isinstance(value["Fn::Sub"], list) else (value["Fn::Sub"], {})
    known = {**lengths, **{name: text(part, lengths) for name, part in own.items()}}
    return re.sub(r"\$\{([^}]+)\}", lambda found: known.get(found[1], "9" * 10), text_)


LENGTHS = {"AWS::Partition": "aws", "AWS::Region": REGION, "AWS::AccountId": ACCOUNT, "Stage": "a-stage-16-long-"}


def everything_named_is_there(template):
    known = set(template["Resources"]) | set(template["Parameters"])
    for id_, resource in template["Resources"].items():
        for name in names(resource):
            if name not in known and not name.startswith("AWS::"):
                yield f"{id_} refers to {name}, which does not exist"


def roles_are_lambdas(template):
    roles = of_type(template, "AWS::IAM::Role")
    for id_, function in of_type(template, "AWS::Lambda::Function").items():
        role = next(names(function["Properties"]["Role"]), None)
        if role not in roles:
            yield f"{id_} has no role in the template"
            continue
        statements = roles[role]["Properties"]["AssumeRolePolicyDocument"]["Statement"]
        trusted = [(one["Effect"], one["Principal"], one["Action"]) for one in statements]
        if trusted != [("Allow", {"Service": "lambda.amazonaws.com"}, "sts:AssumeRole")]:
            yield f"Lambda cannot assume {role}"


def permissions_are_for_what_is_there(template):
    functions, callers = of_type(template, "AWS::Lambda::Function"), {"apigateway.amazonaws.com", "events.amazonaws.com"}
    for id_, permission in of_type(template, "AWS::Lambda::Permission").items():
        properties = permission["Properties"]
        function = next(names(properties["FunctionName"]), None)
        if function not in functions:
            yield f"{id_} is for {function}, which is not a function"
        if properties["Principal"] not in callers or properties["Action"] != "lambda:InvokeFunction":
            yield f"{id_} lets {properties['Principal']} do {properties['Action']}"
        if not properties.get("SourceArn"):
            yield f"{id_} has no SourceArn: it allows every caller of {properties['Principal']}"


def routes(template):
    for api in of_type(template, "AWS::ApiGatewayV2::Api").values():
        for path, operations in api["Properties"].get("Body", {}).get("paths", {}).items():
            for method, operation in operations.items():
                yield method, path, operation["x-amazon-apigateway-integration"]["uri"]


def routes_reach_their_functions(template):
    allowed = set()
    for permission in of_type(template, "AWS::Lambda::Permission").values():
        source = text(permission["Properties"]["SourceArn"], LENGTHS)
        allowed.add((next(names(permission["Properties"]["FunctionName"]), None), source.split(":")[-1].split("/", 2)[-1]))
    for method, path, uri in routes(template):
        function = next((name for name in names(uri) if not name.startswith("AWS::")), None)
        # In the ARN of a route, a path parameter is `*`.
        called = re.sub(r"\{[^}]+\}", "*", path).lstrip("/")
        ways = {f"{method.upper()}/{called}", "*", called, f"*/{called}", "*/*", "*/$default"}
        if not any(way in ways for name, way in allowed if name == function):
            yield f"{method} {path} may not call {function}"


def mappings_begin_somewhere(template):
    functions, tables = of_type(template, "AWS::Lambda::Function"), of_type(template, "AWS::DynamoDB::Table")
    for id_, mapping in of_type(template, "AWS::Lambda::EventSourceMapping").items():
        properties = mapping["Properties"]
        if properties.get("StartingPosition") != "TRIM_HORIZON":
            yield f"{id_} starts at {properties.get('StartingPosition')}: it would miss records of a new stream"
        if next(names(properties["FunctionName"]), None) not in functions:
            yield f"{id_} invokes no function of the template"
        table = tables.get(next(names(properties["EventSourceArn"]), None), {}).get("Properties", {})
        if not table.get("StreamSpecification"):
            yield f"{id_} reads no stream of a table"
        keys = {key["AttributeName"] for key in table.get("KeySchema", [])}
        for filter_ in properties.get("FilterCriteria", {}).get("Filters", []):
            yield from (f"{id_}: {what}" for what in faults_of_pattern(filter_["Pattern"], keys))


def faults_of_pattern(pattern, keys):
    """The errors of an event filter. Lambda accepts some of them, and then no record passes."""
    try:
        parsed = json.loads(pattern)
    except ValueError as error:
        yield f"the filter is not JSON: {error}"
        return
    for name, value in parsed.items():
        if name == "eventName":
            if not set(value) <= {"INSERT", "MODIFY", "REMOVE"}:
                yield f"there is no event name in {value}"
        elif name not in ("dynamodb", "userIdentity"):
            yield f"a record has no {name}"
    for image, attributes in parsed.get("dynamodb", {}).items():
        if image not in ("Keys", "NewImage", "OldImage"):
            yield f"a record has no dynamodb.{image}"
        if image == "Keys" and not set(attributes) <= keys:
            yield f"the table's keys are {sorted(keys)}, not {sorted(attributes)}"
    for part in walk(parsed):
        if isinstance(part, dict):
            for name, value in part.items():
                if not isinstance(value, (dict, list)) and name not in PATTERN_OPERATORS:
                    yield f"{name} is matched with {value!r}, which is not a list"
        elif isinstance(part, list):
            for one in part:
                if isinstance(one, dict) and not set(one) <= PATTERN_OPERATORS:
                    yield f"there is no operator {sorted(one)}"


def dashboards_can_be_drawn(template):
    for id_, dashboard in of_type(template, "AWS::CloudWatch::Dashboard").items():
        body = text(dashboard["Properties"]["DashboardBody"], LENGTHS)
        try:
            widgets = json.loads(body)["widgets"]
        except (ValueError, KeyError) as error:
            yield f"{id_} is not a dashboard: {error!r}"
            continue
        for widget in widgets:
            properties = widget.get("properties", {})
            shown = properties.get("title", "a widget")
            if widget.get("type") != "metric" or not properties.get("region") or not properties.get("metrics"):
                yield f"{id_}: {shown} is not a metric of a region"
            if widget.get("x", 0) + widget.get("width", 99) > 24:
                yield f"{id_}: {shown} is wider than the dashboard"
            before = []
            for metric in properties.get("metrics", []):
                # `...` and `.` repeat values of the metric before.
                if metric[0] == "...":
                    metric = before[: len(before) - len(metric) + 1] + metric[1:]
                elif "." in metric:
                    metric = [old if new == "." else new for new, old in zip(metric, before + metric[len(before):])]
                if len(metric) < 2 or len(metric) % 2 or "." in metric or "..." in metric:
                    yield f"{id_}: {shown} has the invalid metric {metric}"
                before = metric


def alarms_have_their_metrics(template):
    for id_, alarm in of_type(template, "AWS::CloudWatch::Alarm").items():
        metrics = alarm["Properties"].get("Metrics")
        if not metrics:
            continue
        ids = {metric["Id"] for metric in metrics}
        expressions = [metric for metric in metrics if "Expression" in metric]
        if sum(metric.get("ReturnData", True) for metric in metrics) != 1:
            yield f"{id_} must return exactly one metric"
        used = set()
        for metric in expressions:
            expression = text(metric["Expression"], LENGTHS)
            named = set(re.findall(r"\b[a-z]\w*\b", expression))
            used |= named
            if named - ids:
                yield f"{id_}: the expression uses unknown ids {sorted(named - ids)}"
            # A sum has no value in a period in which one of its metrics has none.
            parts = re.sub(r"FILL\(\w+, *0\)", "", expression)
            adds = re.search(r"[a-z]\w* *\+|\+ *[a-z]\w*|SUM\(\[[^\]]*[a-z]", parts)
            if adds:
                yield f"{id_} adds metrics that may have no values, without FILL: {expression}"
        if ids - used - {metric["Id"] for metric in expressions}:
            yield f"{id_} has metrics that its expressions do not use"


def resource_policies_fit(template):
    """Each permission of a function is a statement of its resource policy."""
    sizes = {}
    for id_, permission in of_type(template, "AWS::Lambda::Permission").items():
        function = next(names(permission["Properties"]["FunctionName"]), None)
        name = template["Resources"].get(function, {}).get("Properties", {}).get("FunctionName", "x")
        statement = {
            "Sid": f"{STACK}-{id_}-{SUFFIX}", "Effect": "Allow", "Principal": {"Service": permission["Properties"]["Principal"]},
            "Action": "lambda:InvokeFunction", "Resource": f"arn:aws:lambda:{REGION}:{ACCOUNT}:function:{text(name, LENGTHS)}",
            "Condition": {"ArnLike": {"AWS:SourceArn": text(permission["Properties"]["SourceArn"], LENGTHS)}}}
        sizes[function] = sizes.get(function, 60) + len(json.dumps(statement, separators=(",", ":"))) + 1
    for function, size in sizes.items():
        if size > 0.95 * POLICY_BYTES_MAX:
            yield f"{function}: its resource policy has {size} bytes of at most {POLICY_BYTES_MAX}"


def kept_resources_can_be_taken_back(template):
    """CloudFormation imports only resources with a name of their own."""
    for id_, resource in template["Resources"].items():
        kept = resource.get("DeletionPolicy") == "RetainExceptOnCreate"
        data = resource["Type"] == "AWS::DynamoDB::Table"
        if data and not kept:
            yield f"{id_} is deleted with the stack"
        if kept and resource.get("UpdateReplacePolicy") != "Retain":
            yield f"{id_} is deleted when it is replaced"
        if kept and not {"TableName", "Name"} & set(resource["Properties"]):
            yield f"{id_} is kept, but has no name to find it by"


def plant(template, kind, change, index=0):
    """A copy of the template with a fault in a resource of this type."""
    planted = copy.deepcopy(template)
    change(list(of_type(planted, kind).values())[index]["Properties"])
    return planted


def set_pattern(pattern):
    def change(properties):
        properties["FilterCriteria"]["Filters"][0]["Pattern"] = pattern
    return change


def set_body(old, new):
    def change(properties):
        properties["DashboardBody"]["Fn::Sub"] = properties["DashboardBody"]["Fn::Sub"].replace(old, new, 1)
    return change


def math_alarm(template, old, new):
    planted = copy.deepcopy(template)
    for alarm in of_type(planted, "AWS::CloudWatch::Alarm").values():
        for metric in alarm["Properties"].get("Metrics", []):
            if old in str(metric.get("Expression")):
                metric["Expression"] = metric["Expression"].replace(old, new)
                return planted
    raise AssertionError(f"no alarm has {old}")


def many_permissions(template):
    planted, permissions = copy.deepcopy(template), of_type(template, "AWS::Lambda::Permission")
    for number in range(80):
        planted["Resources"][f"OneMoreRoute{number}Permission"] = next(iter(permissions.values()))
    return planted


def unkept(template):
    planted = copy.deepcopy(template)
    del planted["Resources"]["ClicksTable"]["DeletionPolicy"]
    return planted


def unpermitted(template):
    planted = copy.deepcopy(template)
    del planted["Resources"]["ClickWriterFunctionPostPermission"]
    return planted


ROLE, PERMISSION, MAPPING = "AWS::IAM::Role", "AWS::Lambda::Permission", "AWS::Lambda::EventSourceMapping"
DASHBOARD = "AWS::CloudWatch::Dashboard"
# Each check, with the planted faults that it must find.
CHECKS = {
    everything_named_is_there: [
        lambda t: plant(t, "AWS::Lambda::Function", lambda p: p.update(Role={"Fn::GetAtt": ["NobodyRole", "Arn"]}))],
    roles_are_lambdas: [
        lambda t: plant(t, ROLE, lambda p: p["AssumeRolePolicyDocument"]["Statement"][0].update(Principal={"Service": "edgelambda.amazonaws.com"})),
        lambda t: plant(t, ROLE, lambda p: p["AssumeRolePolicyDocument"]["Statement"][0].update(Principal="*"))],
    permissions_are_for_what_is_there: [
        lambda t: plant(t, PERMISSION, lambda p: p.update(FunctionName={"Ref": "NobodyFunction"})),
        lambda t: plant(t, PERMISSION, lambda p: p.update(Principal="apigateway.amazon.com")),
        lambda t: plant(t, PERMISSION, lambda p: p.pop("SourceArn"))],
    routes_reach_their_functions: [unpermitted],
    mappings_begin_somewhere: [
        lambda t: plant(t, MAPPING, lambda p: p.pop("StartingPosition")),
        lambda t: plant(t, MAPPING, lambda p: p.update(StartingPosition="LATEST")),
        lambda t: plant(t, MAPPING, lambda p: p.update(EventSourceArn={"Fn::GetAtt": ["JournalTable", "StreamArn"]})),
        lambda t: plant(t, MAPPING, set_pattern('{"eventName": ["INSERTED"]}')),
        lambda t: plant(t, MAPPING, set_pattern('{"eventName": ["INSERT"]')),
        lambda t: plant(t, MAPPING, set_pattern('{"dynamodb": {"Keys": {"userid": {"S": ["a"]}}}}')),
        lambda t: plant(t, MAPPING, set_pattern('{"dynamodb": {"NewImage": {"status": {"S": "playing"}}}}')),
        lambda t: plant(t, MAPPING, set_pattern('{"dynamodb": {"Keys": {"userId": {"S": [{"begins": "a"}]}}}}'))],
    dashboards_can_be_drawn: [
        lambda t: plant(t, DASHBOARD, set_body('"y": 0,', '"y": 0')),
        lambda t: plant(t, DASHBOARD, set_body('"type": "metric"', '"type": "metrics"')),
        lambda t: plant(t, DASHBOARD, set_body('"Count", "ApiId",', '"ApiId",')),
        lambda t: plant(t, DASHBOARD, set_body('"width": 12', '"width": 25'))],
    alarms_have_their_metrics: [
        lambda t: math_alarm(t, "100 * errors / invocations", "100 * errors / invocation"),
        lambda t: math_alarm(t, "FILL(reads, 0)", "reads")],
    resource_policies_fit: [many_permissions],
    kept_resources_can_be_taken_back: [unkept],
}


def main():
    template = expanded()
    faults = [fault for check in CHECKS for fault in check(template)]
    for check, planted in CHECKS.items():
        for number, plant_fault in enumerate(planted):
            if not list(check(plant_fault(template))):
                faults.append(f"{check.__name__} does not find the planted fault {number}")
    for fault in faults:
        print(fault, file=sys.stderr)
    print(f"{len(template['Resources'])} resources, {len(CHECKS)} checks, {sum(map(len, CHECKS.values()))} planted faults")
    sys.exit(bool(faults))


if __name__ == "__main__":
    main()
