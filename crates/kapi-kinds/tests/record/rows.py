"""Records the table rows of src/columns/rows.json anew: makes its objects on a real kube-apiserver (without controllers)
and asks for them as tables. To record more, add an object to the file first; its `cells` may be empty.

    rows.py SERVER TOKEN CA_FILE
"""

import json
import pathlib
import subprocess
import sys
import time

SERVER, TOKEN, CA = sys.argv[1:4]
SOURCE = pathlib.Path(__file__).parents[2] / "src"
TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io"
RESOURCES = {
    (r["group"], r["version"], r["kind"]): r
    for r in json.loads((SOURCE / "generated/resources.json").read_text())["resources"]
}


def ask(method, path, body=None, accept="application/json"):
    command = ["curl", "-sS", "--cacert", CA, "-X", method, "-H", f"Authorization: Bearer {TOKEN}"]
    command += ["-H", f"Accept: {accept}", "-H", "Content-Type: application/json"]
    if body is not None:
        command += ["--data-binary", json.dumps(body)]
    return json.loads(subprocess.check_output([*command, SERVER + path]))


def collection(item):
    group, _, version = item["apiVersion"].rpartition("/")
    resource = RESOURCES[group, version, item["kind"]]
    root = f"/apis/{group}/{version}" if group else f"/api/{version}"
    namespace = f"/namespaces/{item['metadata']['namespace']}" if resource["namespaced"] else ""
    return f"{root}{namespace}/{resource['plural']}", resource


MADE = set()
# The server itself writes the status of these.
OWN_STATUS = ("APIService", "CustomResourceDefinition")


def make(item):
    path, resource = collection(item)
    identity = (item["kind"], item["metadata"].get("namespace"), item["metadata"]["name"])
    if "create" not in resource["verbs"] or identity in MADE:  # Some are there in two versions.
        return
    MADE.add(identity)
    item = json.loads(json.dumps(item))
    status, metadata = item.pop("status", None), item["metadata"]
    deleted = metadata.pop("deletionTimestamp", None)
    for key in ("creationTimestamp", "deletionGracePeriodSeconds", "generation"):
        metadata.pop(key, None)
    if item["kind"] == "CertificateSigningRequest":
        request = "openssl req -new -newkey rsa:2048 -nodes -keyout /dev/null -subj /CN=x 2>/dev/null | base64 -w0"
        item["spec"]["request"] = subprocess.check_output(request, shell=True, text=True)
    if item["kind"] == "Job":  # Both name the uid of the job it was.
        del item["spec"]["selector"], item["spec"]["template"]["metadata"]
    answer = ask("POST", path, item)
    if answer["kind"] == "Status":
        if answer["reason"] != "AlreadyExists":
            print(item["kind"], metadata["name"], answer["message"])
        return
    below = [s["name"] for s in resource.get("subresources", []) if s["name"] in ("approval", "status")]
    if status and below and item["kind"] not in OWN_STATUS:
        answer["status"] = status
        answer = ask("PUT", f"{path}/{metadata['name']}/{below[0]}", answer)
        if answer.get("reason"):
            print(item["kind"], metadata["name"], answer["message"])
    if deleted:
        ask("DELETE", f"{path}/{metadata['name']}")


def record(item):
    path, resource = collection(item)
    path = f"{path}/{item['metadata']['name']}"
    while True:  # Ages are in whole seconds: both answers must be of the same one.
        now = int(time.time())
        found, table = ask("GET", path), ask("GET", path, accept=TABLE)
        if now == int(time.time()):
            break
    for key in ("managedFields", "uid", "resourceVersion"):
        found["metadata"].pop(key, None)
    if found["kind"] == "CertificateSigningRequest":
        found["spec"]["request"] = "eA=="
    row = {"now": now, "object": found, "cells": table["rows"][0]["cells"]}
    if table["rows"][0].get("conditions"):
        row["conditions"] = table["rows"][0]["conditions"]
    columns = [[c["name"], c["type"], c["format"], c["priority"]] for c in table["columnDefinitions"]]
    kind = {"group": resource["group"], "version": resource["version"], "kind": resource["kind"]}
    return {**kind, "columns": columns}, row


def lines(values):
    return ",\n".join(json.dumps(value, separators=(",", ":"), sort_keys=True) for value in values)


objects = [row["object"] for row in json.loads((SOURCE / "columns/rows.json").read_text())["rows"]]
for namespace in sorted({item["metadata"].get("namespace") for item in objects} - {None}):
    ask("POST", "/api/v1/namespaces", {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}})
# Quotas and limits would refuse what is made after them.
limits = ("LimitRange", "ResourceQuota")
for item in sorted(objects, key=lambda item: item["kind"] in limits):
    make(item)
recorded = [record(item) for item in objects]
columns = {(c["group"], c["version"], c["kind"]): c for c, _ in recorded}
text = f'{{\n"columns":[\n{lines(columns.values())}\n],\n"rows":[\n{lines(row for _, row in recorded)}\n]\n}}\n'
(SOURCE / "columns/rows.json").write_text(text)
