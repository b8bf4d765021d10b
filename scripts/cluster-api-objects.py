"""Fits Cluster API's CRDs and webhooks to managers that run as plain processes: PROGRAM URL CA-FILE, JSON in, JSON out."""

import base64
import json
import sys

program, url, authority = sys.argv[1:]
with open(authority, "rb") as file:
    bundle = base64.b64encode(file.read()).decode()


def objects(text):
    """kubectl prints one document after the other, or lists of them."""
    decoder = json.JSONDecoder()
    while text := text.lstrip():
        value, end = decoder.raw_decode(text)
        text = text[end:]
        yield from value["items"] if value["kind"] == "List" else [value]


def fit(thing):
    if thing["kind"] == "CustomResourceDefinition":
        # Which of its versions speak which contract.
        labels = {f"cluster.x-k8s.io/{version}": version for version in ("v1beta1", "v1beta2")}
        thing["metadata"].setdefault("labels", {}).update(labels)
        client = {"url": f"{url}/convert", "caBundle": bundle}
        webhook = {"clientConfig": client, "conversionReviewVersions": ["v1"]}
        thing["spec"]["conversion"] = {"strategy": "Webhook", "webhook": webhook}
    else:
        thing["metadata"]["name"] = f"{program}-{thing['metadata']['name']}"
        for webhook in thing["webhooks"]:
            path = webhook["clientConfig"]["service"]["path"]
            webhook["clientConfig"] = {"url": url + path, "caBundle": bundle}
    return thing


items = [fit(thing) for thing in objects(sys.stdin.read())]
json.dump({"apiVersion": "v1", "kind": "List", "items": items}, sys.stdout)
