"""Hooks for schemathesis (see scripts/attack): the credentials of the attacker, and addresses that must not be used.

ATTACK_AS names the attacker: nobody; staff, operator or health (with the token of each); player; or user (of Okusuri, signed in
with a mailed code). When the attack ends its own session, by signing out or deleting the user, it signs in again.
"""

import itertools
import json
import os
import re
import urllib.error
import urllib.parse
import urllib.request

import schemathesis

URL = os.environ["TIDEMARK_URL"]
WHO = os.environ["ATTACK_AS"]
assert URL.startswith("http://127.0.0.1:"), "The attack runs only against a stack on this machine."

# The suite sends messages to the address that a browser names. Nothing listens at this address.
DEAD_END = "https://127.0.0.1:9/push"

numbers = itertools.count(1)


def ask(method, path, body=None, accept="application/json"):
    headers = {"content-type": "application/json", "accept": accept, "origin": URL}
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(URL + path, data=data, headers=headers, method=method)
    with urllib.request.urlopen(request, timeout=30) as answer:
        return answer.headers, answer.read()


def sign_in():
    """The cookie of a new user."""
    email = f"attacker-{os.getpid()}-{next(numbers)}@example.com"
    ask("POST", "/okusuri/api/sign-in/email", {"email": email})
    mails = json.loads(ask("GET", "/_local/mail")[1])["items"]
    text = next(mail["text"] for mail in mails if mail["to"] == [email])
    code = re.search(r"^\s*(\d{6})\s*$", text, re.MULTILINE).group(1)
    headers, _ = ask("POST", "/okusuri/api/sign-in/email/verify", {"email": email, "code": code, "timeZone": "Asia/Tokyo"})
    return headers["set-cookie"].split(";")[0]


def take_a_seat():
    """The token of a new player, who hosts a game."""
    return json.loads(ask("POST", "/games", {"name": "mallory"})[1])["playerToken"]


class Attacker:
    def __init__(self):
        self.headers = {}
        self.renew()

    def renew(self):
        if WHO in ("staff", "operator", "health"):
            self.headers = {"authorization": "Bearer " + os.environ[f"TIDEMARK_{WHO.upper()}_TOKEN"]}
        elif WHO == "player":
            self.headers = {"authorization": "Bearer " + take_a_seat()}
        elif WHO == "user":
            self.headers = {"cookie": sign_in(), "origin": URL}

    def is_signed_in(self):
        request = urllib.request.Request(URL + "/okusuri/api/me", headers=self.headers)
        try:
            with urllib.request.urlopen(request, timeout=30):
                return True
        except urllib.error.HTTPError:
            return False


attacker = Attacker()


def leads_nowhere(value):
    """The same value, with DEAD_END in place of each address of a push service."""
    if isinstance(value, dict):
        return {key: DEAD_END if key == "endpoint" and isinstance(item, str) else leads_nowhere(item) for key, item in value.items()}
    if isinstance(value, list):
        return [leads_nowhere(item) for item in value]
    return value


@schemathesis.hook
def filter_case(context, case):
    """Skips requests that reach no function: API Gateway refuses request lines and headers of more than 10,240 bytes."""
    request = case.as_transport_kwargs(base_url=URL)
    return len(request["url"]) + len(urllib.parse.urlencode(request.get("params") or {}, doseq=True)) < 8_000


@schemathesis.hook
def before_call(context, case, kwargs):
    if case.operation.path.startswith("/okusuri/api/push/"):
        case.body = leads_nowhere(case.body)
    # Keeps values that a negative test has set.
    for name, value in attacker.headers.items():
        case.headers.setdefault(name, value)


@schemathesis.hook
def after_call(context, case, response):
    # A negative test may have sent another cookie. Then the session is still valid.
    if response.status_code == 401 and WHO == "user" and not attacker.is_signed_in():
        attacker.renew()
