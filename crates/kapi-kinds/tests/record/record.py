#!/usr/bin/env python3
"""Sends the cases to a real kube-apiserver as dry runs and writes its answers to tests/golden/*.jsonl.

Usage: record.py <server> <bearer token>. Works in a namespace of its own, which it makes and removes.
"""
import copy
import json
import os
import re
import ssl
import subprocess
import sys
import tempfile
import urllib.error
import urllib.request

import cases

SERVER, TOKEN = sys.argv[1], sys.argv[2]
NAMESPACE = "kinds"
INSECURE = ssl._create_unverified_context()


def call(method, path, body=None):
    request = urllib.request.Request(
        SERVER + path, method=method, data=None if body is None else json.dumps(body).encode(),
        headers={"Authorization": f"Bearer {TOKEN}", "Content-Type": "application/json"})
    try:
        with urllib.request.urlopen(request, context=INSECURE) as response:
            return response.status, json.load(response), response.headers.get_all("Warning") or []
    except urllib.error.HTTPError as error:
        return error.code, json.load(error), error.headers.get_all("Warning") or []


def edited(base, edits):
    out = copy.deepcopy(base)
    for pointer, value in edits.items():
        *parents, last = [part.replace("~1", "/") for part in pointer.split("/")]
        at = out
        for part in parents:
            at = at[int(part)] if isinstance(at, list) else at.setdefault(part, {})
        if value is cases.GONE:
            at.pop(last, None)
        elif isinstance(at, list):
            at[int(last)] = copy.deepcopy(value)
        else:
            at[last] = copy.deepcopy(value)
    return out


def collection(plural, namespaced, version):
    root = f"/api/{version}" if "/" not in version else f"/apis/{version}"
    return f"{root}/namespaces/{NAMESPACE}/{plural}" if namespaced else f"{root}/{plural}"


def csr():
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run(["openssl", "req", "-new", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes",
                        "-keyout", f"{folder}/key", "-out", f"{folder}/csr", "-subj", "/O=team/CN=jane"],
                       check=True, capture_output=True)
        import base64
        return base64.b64encode(open(f"{folder}/csr", "rb").read()).decode()


def answer(code, body, warnings):
    out = {"code": code}
    if code < 300:
        body["metadata"].pop("managedFields", None)
        out["object"] = body
    else:
        out["message"] = body.get("message", "")
        out["causes"] = [[cause.get("field", ""), cause.get("reason", ""), cause.get("message", "")]
                         for cause in body.get("details", {}).get("causes", [])]
    if warnings:
        out["warnings"] = [warning.split(" ", 2)[2][1:-1].replace('\\"', '"') for warning in warnings]
    return out


def repeated(method, path, body):
    """The answer, and whether the order of errors differs from one time to the next (Go maps have none)."""
    first = answer(*call(method, path, body))
    if len(first.get("causes", [])) > 1:
        again = [answer(*call(method, path, body)) for _ in range(12)]
        of_maps = any(re.search(r"\[[^\]0-9]", cause[0]) for cause in first["causes"])
        if of_maps or any(other["causes"] != first["causes"] for other in again):
            first["unordered"] = True
    return first


def shown(edits):
    text = json.dumps({k: "GONE" if v is cases.GONE else v for k, v in edits.items()}, sort_keys=True)
    return text if len(text) < 200 else text[:200] + "..."


def write(name, lines):
    folder = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../golden")
    os.makedirs(folder, exist_ok=True)
    with open(os.path.join(folder, name), "w") as f:
        for line in lines:
            f.write(json.dumps(line, sort_keys=True, separators=(",", ":")) + "\n")


request = csr()
bases = json.loads(json.dumps(cases.BASES).replace("@CSR@", request))
call("POST", "/api/v1/namespaces", {"metadata": {"name": NAMESPACE}})
call("POST", f"/api/v1/namespaces/{NAMESPACE}/serviceaccounts", {"metadata": {"name": "default"}})
creates, updates, statuses = [], [], []
try:
    for base, edits in cases.CREATE:
        plural, namespaced, start = bases[base]
        given = edited(start, edits)
        path = collection(plural, namespaced, start["apiVersion"])
        line = {"case": f"{base} {shown(edits)}", "namespaced": namespaced, "given": given}
        creates.append({**line, **repeated("POST", path + "?dryRun=All", given)})
    for base, first, edits, subresource, lines in (
            [(*case, "", updates) for case in cases.UPDATE] + [(*case, "/status", statuses) for case in cases.STATUS]):
        plural, namespaced, start = bases[base]
        path = collection(plural, namespaced, start["apiVersion"])
        code, old, _ = call("POST", path, edited(start, first))
        if code >= 300:
            sys.exit(f"{base} {first}: {old}")
        old["metadata"].pop("managedFields", None)
        given = edited(old, edits)
        name = path + "/" + start["metadata"]["name"]
        line = {"case": f"{base} {shown(first)} -> {shown(edits)}", "namespaced": namespaced, "old": old, "given": given}
        lines.append({**line, **repeated("PUT", name + subresource + "?dryRun=All", given)})
        code, body, _ = call("DELETE", name + "?gracePeriodSeconds=0&propagationPolicy=Background")
        code, body, _ = call("GET", name)
        if code == 200:
            for finalizer in ("metadata", "spec"):
                if body.get(finalizer, {}).get("finalizers"):
                    body[finalizer]["finalizers"] = []
            call("PUT", name + ("/finalize" if base == "namespace" else ""), body)
finally:
    call("DELETE", f"/api/v1/namespaces/{NAMESPACE}/serviceaccounts/default")
    call("DELETE", f"/api/v1/namespaces/{NAMESPACE}")
    code, body, _ = call("GET", f"/api/v1/namespaces/{NAMESPACE}")
    body["spec"] = {"finalizers": []}
    call("PUT", f"/api/v1/namespaces/{NAMESPACE}/finalize", body)
write("create.jsonl", creates)
write("update.jsonl", updates)
write("status.jsonl", statuses)
print(f"{len(creates)} creations, {len(updates)} updates, {len(statuses)} updates of status")
