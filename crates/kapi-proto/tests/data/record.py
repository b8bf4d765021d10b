#!/usr/bin/env python3
"""Records pairs of JSON and protobuf of the same objects off a real kube-apiserver.

    record.py --server URL --token TOKEN [--ca FILE]

Creates the objects of objects.py, reads each in both forms, deletes them and writes pairs.jsonl (one line per object:
name, json, protobuf in base64) and watch.json (the frames of a watch). Needs python3 and openssl.
"""

import argparse
import base64
import json
import pathlib
import ssl
import subprocess
import tempfile
import urllib.error
import urllib.request

import objects

JSON = "application/json"
PROTOBUF = "application/vnd.kubernetes.protobuf"
HERE = pathlib.Path(__file__).parent


class Server:
    def __init__(self, url, token, ca):
        self.url, self.token = url, token
        self.context = ssl.create_default_context(cafile=ca)

    def call(self, method, path, body=None, accept=JSON, content_type=JSON):
        """The status and the bytes of the answer."""
        # JSON inside of objects stays as it was sent: compact and sorted, as our own encoder writes it.
        data = body and json.dumps(body, separators=(",", ":"), sort_keys=True, ensure_ascii=False).encode()
        headers = {"Authorization": f"Bearer {self.token}", "Accept": accept, "Content-Type": content_type}
        request = urllib.request.Request(self.url + path, data, headers, method=method)
        try:
            with urllib.request.urlopen(request, context=self.context) as answer:
                return answer.status, answer.read()
        except urllib.error.HTTPError as error:
            return error.code, error.read()

    def must(self, *args, **named):
        status, body = self.call(*args, **named)
        if status >= 300:
            raise SystemExit(f"{args[:2]}: {status} {body.decode(errors='replace')}")
        return body


def signing_request():
    with tempfile.TemporaryDirectory() as folder:
        command = ["openssl", "req", "-new", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes",
                   "-keyout", f"{folder}/key", "-subj", "/CN=kproto"]
        return base64.b64encode(subprocess.run(command, check=True, capture_output=True).stdout).decode()


def pair(name, as_json, as_protobuf):
    assert as_protobuf.startswith(b"k8s\0"), name
    return {"name": name, "json": json.loads(as_json), "protobuf": base64.b64encode(as_protobuf).decode()}


def both(server, method, path, body=None, parameters=""):
    ask = lambda accept: server.call(method, path, body, accept + parameters)[1]
    before, as_protobuf, after = ask(JSON), ask(PROTOBUF), ask(JSON)
    # Controllers inside of the server still write to some objects.
    while before != after:
        before, as_protobuf, after = after, ask(PROTOBUF), ask(JSON)
    return pair(f"{method} {path}{parameters}", after, as_protobuf)


def without_managers(server, path, kind):
    """Drops the managed fields, which would be most of each record, where the kind lets itself be changed."""
    if kind not in ("ConfigMap", "Deployment"):
        patch = {"metadata": {"managedFields": [{}]}}
        server.call("PATCH", path, patch, content_type="application/merge-patch+json")


def record(server, created):
    pairs = []
    namespace = f"/api/v1/namespaces/{objects.NS}"
    for path, content in objects.objects(signing_request()):
        name = f"{path}/{content['metadata']['name']}"
        if name != namespace:
            created.append(name)
            server.must("POST", path, content)
        if content["kind"] == "Node":
            server.must("PATCH", f"{name}/status", {"status": content["status"]}, content_type="application/merge-patch+json")
        without_managers(server, name, content["kind"])
        pairs.append(both(server, "GET", name))
    pairs += [both(server, "POST", path, review) for path, review in objects.reviews()]
    pairs += [both(server, "GET", path, parameters=parameters) for path, parameters in objects.READ]
    return pairs


def watch(server):
    """The same watch in both forms: the objects that are there, until it is clear that nothing follows them."""
    selector = "fieldSelector=metadata.name%3Dkproto"
    path = f"{objects.core('configmaps')}?watch=1&resourceVersion=0&timeoutSeconds=2&{selector}"
    events = [json.loads(line) for line in server.must("GET", path, accept=JSON).splitlines()]
    frames = server.must("GET", path, accept=f"{PROTOBUF};stream=watch")
    return {"events": events, "frames": base64.b64encode(frames).decode()}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--server", required=True)
    parser.add_argument("--token", required=True)
    parser.add_argument("--ca")
    options = parser.parse_args()
    server = Server(options.server, options.token, options.ca)
    namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": objects.NS, **objects.META}}
    server.must("POST", "/api/v1/namespaces", namespace)
    created = []
    try:
        pairs = record(server, created)
        frames = watch(server)
    finally:
        for path in reversed(created):
            server.call("DELETE", path + "?gracePeriodSeconds=0&propagationPolicy=Background")
            server.call("PATCH", path, {"metadata": {"finalizers": None}}, content_type="application/merge-patch+json")
        server.call("DELETE", f"/api/v1/namespaces/{objects.NS}")
        finalize = {**namespace, "spec": {"finalizers": []}}
        server.call("PUT", f"/api/v1/namespaces/{objects.NS}/finalize", finalize)
    dump = lambda value: json.dumps(value, separators=(",", ":"), ensure_ascii=False) + "\n"
    (HERE / "pairs.jsonl").write_text("".join(map(dump, pairs)))
    (HERE / "watch.json").write_text(dump(frames))


if __name__ == "__main__":
    main()
