#!/usr/bin/env python3
"""Records how a real kube-apiserver tracks field ownership.

Runs every scenario of scenarios.py against the server and writes, for each step, the object before, the request and
the answer to ../golden/<group>.json, and the schemas the tests need to ../schemas/.

    ORACLE_URL=https://localhost:6443 ORACLE_TOKEN=... python3 record.py [group...]

Needs only the standard library. Names its objects merge-*, and removes them at the end.
"""
import copy
import json
import os
import ssl
import sys
import time
import urllib.error
import urllib.request

import scenarios

URL, TOKEN = os.environ["ORACLE_URL"], os.environ["ORACLE_TOKEN"]
HERE = os.path.dirname(os.path.abspath(__file__))
NAMESPACE = "merge-golden"
CONTEXT = ssl._create_unverified_context()


def call(method, path, body=None, content_type="application/json", agent="recorder"):
    data = None if body is None else (body if isinstance(body, bytes) else json.dumps(body).encode())
    headers = {"Authorization": "Bearer " + TOKEN, "Content-Type": content_type, "User-Agent": agent}
    request = urllib.request.Request(URL + path, data=data, method=method, headers=headers)
    try:
        with urllib.request.urlopen(request, context=CONTEXT) as answer:
            return answer.status, json.load(answer)
    except urllib.error.HTTPError as error:
        text = error.read().decode()
        # Paths not served yet answer in plain text.
        return error.code, json.loads(text) if text.startswith("{") else {"message": text}


def merge_patch(doc, patch):
    if not isinstance(patch, dict):
        return copy.deepcopy(patch)
    out = dict(doc) if isinstance(doc, dict) else {}
    for key, value in patch.items():
        if value is None:
            out.pop(key, None)
        else:
            out[key] = merge_patch(out.get(key), value)
    return out


def times(obj):
    return [entry["time"] for entry in obj.get("metadata", {}).get("managedFields", []) if "time" in entry]


class Scenario:
    def __init__(self, kind, name, steps):
        self.kind, self.name, self.steps = scenarios.KINDS[kind], name, steps

    def path(self, name="", subresource="", version=""):
        api = version or self.kind["apiVersion"]
        root = "/apis/" + api if "/" in api else "/api/" + api
        scope = "" if self.kind["kind"] in scenarios.CLUSTER_SCOPED else f"namespaces/{NAMESPACE}/"
        path = f"{root}/{scope}{self.kind['resource']}"
        return path + ("/" + name if name else "") + ("/" + subresource if subresource else "")

    def run(self):
        name = "merge-" + self.name.replace(" ", "-").replace("_", "-").lower()[:50].strip("-")
        self.remove(name)
        recorded = []
        last = None
        for step in self.steps:
            result = self.step(name, step)
            last, live = result.get("result", last), result["live"]
            # What follows from the step before is not written twice.
            if recorded and live == before:
                del result["live"]
            before = last
            recorded.append(result)
        self.remove(name)
        return {"kind": self.kind["kind"], "name": self.name, "steps": recorded}

    def remove(self, name):
        code, live = call("GET", self.path(name))
        if code == 200 and live["metadata"].get("finalizers"):
            call("PATCH", self.path(name), {"metadata": {"finalizers": None}}, "application/merge-patch+json")
        _, gone = call("DELETE", self.path(name) + "?gracePeriodSeconds=0&propagationPolicy=Background")
        if self.kind["kind"] == "Namespace":
            finalize(name, gone)

    def step(self, name, step):
        verb, manager, subresource = step["verb"], step.get("manager", ""), step.get("subresource", "")
        version = step.get("version", self.kind["apiVersion"])
        if step.get("wait"):
            time.sleep(1.1)
        code, live = call("GET", self.path(name, version=version))
        live = live if code == 200 else None
        body = copy.deepcopy(step["body"])
        query = "?fieldManager=" + manager if manager else ""
        agent = step.get("agent", "recorder/1.0")
        if verb in ("create", "apply") and not step.get("bare"):
            is_scale = subresource == "scale"
            kind = {"apiVersion": "autoscaling/v1" if is_scale else version, "kind": "Scale" if is_scale else self.kind["kind"]}
            body = {**kind, **body}
            body["metadata"] = {**body.get("metadata", {}), "name": name}
            if self.kind["kind"] not in scenarios.CLUSTER_SCOPED:
                body["metadata"]["namespace"] = NAMESPACE
        if verb == "create":
            code, answer = call("POST", self.path(version=version) + query, body, agent=agent)
        elif verb == "update":
            _, target = call("GET", self.path(name, subresource, version))
            body = merge_patch(target, body)
            code, answer = call("PUT", self.path(name, subresource, version) + query, body, agent=agent)
        else:
            content_type = {
                "apply": "application/apply-patch+yaml",
                "json": "application/json-patch+json",
                "merge": "application/merge-patch+json",
                "strategic": "application/strategic-merge-patch+json",
            }[verb]
            if verb == "apply":
                query = (query or "?") + ("&force=true" if step.get("force") else "")
            path = self.path(name, subresource, version) + query
            code, answer = call("PATCH", path, body, content_type, agent)
        result = {
            "verb": verb,
            "manager": manager or agent.split("/")[0],
            "apiVersion": version,
            "subresource": subresource,
            "body": body,
            "live": live,
            "code": code,
        }
        for key in ("force", "redefaulted", "sent"):
            if key in step:
                result[key] = step[key]
        if code in (200, 201):
            if subresource == "scale":
                result["scale"] = answer
                _, answer = call("GET", self.path(name, version=version))
            result["result"] = answer
            result["now"] = max(times(answer), default="2006-01-02T15:04:05Z")
            if step.get("wait") and live and result["now"] == max(times(live), default=""):
                # Nothing got the time of this write: the tests then use one that cannot be taken for an older one.
                result["now"] = "2999-01-01T00:00:00Z"
        else:
            result["message"] = answer["message"]
            result["reason"] = answer.get("reason", "")
            result["causes"] = answer.get("details", {}).get("causes", [])
        return result


def without_descriptions(schema):
    if isinstance(schema, list):
        return [without_descriptions(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    drop = {"x-kubernetes-group-version-kind", "x-kubernetes-unions"}
    return {
        key: without_descriptions(value)
        for key, value in schema.items()
        if key not in drop and not (key == "description" and isinstance(value, str))
    }


def references(schema):
    if isinstance(schema, list):
        return [name for item in schema for name in references(item)]
    if not isinstance(schema, dict):
        return []
    found = [schema["$ref"].rsplit("/", 1)[1]] if isinstance(schema.get("$ref"), str) else []
    return found + [name for value in schema.values() for name in references(value)]


def record_schemas():
    components, roots = {}, {}
    for kind in scenarios.KINDS.values():
        if "component" not in kind:
            continue
        api = kind["apiVersion"]
        _, document = call("GET", "/openapi/v3/" + ("apis/" + api if "/" in api else "api/" + api))
        schemas, todo = document["components"]["schemas"], [kind["component"]]
        roots[kind["kind"]] = kind["component"]
        while todo:
            name = todo.pop()
            if name not in components:
                components[name] = without_descriptions(schemas[name])
                todo += references(components[name])
    write("../schemas/builtin.json", {"roots": roots, "components": components})
    write("../schemas/widget.json", scenarios.CRD["spec"]["versions"][0]["schema"]["openAPIV3Schema"])


def write(path, value):
    with open(os.path.join(HERE, path), "w") as file:
        json.dump(value, file, separators=(",", ":"), sort_keys=True)
        file.write("\n")


def write_golden(group, recorded):
    with open(os.path.join(HERE, "../golden", group + ".json"), "w") as file:
        file.write("[\n")
        file.write(",\n".join(json.dumps(item, separators=(",", ":"), sort_keys=True) for item in recorded))
        file.write("\n]\n")


def finalize(name, namespace):
    """No controller empties namespaces of a bare server."""
    namespace["spec"] = {"finalizers": []}
    call("PUT", f"/api/v1/namespaces/{name}/finalize", namespace)


def main():
    call("POST", "/api/v1/namespaces", {"metadata": {"name": NAMESPACE}})
    call("POST", f"/api/v1/namespaces/{NAMESPACE}/serviceaccounts", {"metadata": {"name": "default"}})
    crds = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
    call("POST", crds, scenarios.CRD)
    for _ in range(50):
        code, _ = call("GET", f"/apis/merge.example.com/v1/namespaces/{NAMESPACE}/widgets")
        if code == 200:
            break
        time.sleep(0.2)
    time.sleep(2)
    record_schemas()
    total = 0
    for group, table in scenarios.GROUPS.items():
        if sys.argv[1:] and group not in sys.argv[1:]:
            continue
        recorded = [Scenario(*item).run() for item in table]
        write_golden(group, recorded)
        total += len(recorded)
        for item in recorded:
            for index, step in enumerate(item["steps"]):
                if step["code"] >= 400:
                    print(group, item["name"], index, step["code"], step["message"][:300])
    print(total, "scenarios recorded")
    call("DELETE", crds + "/widgets.merge.example.com")
    call("DELETE", f"/api/v1/namespaces/{NAMESPACE}/serviceaccounts/default")
    _, namespace = call("DELETE", "/api/v1/namespaces/" + NAMESPACE)
    finalize(NAMESPACE, namespace)


if __name__ == "__main__":
    main()
