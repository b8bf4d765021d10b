"""The scenarios: sequences of writes by several managers."""
import os
import random


def text(**more):
    return {"type": "string", **more}


def obj(properties=None, **more):
    return {"type": "object", **({"properties": properties} if properties else {}), **more}


def many(items, **more):
    return {"type": "array", "items": items, **more}


def merged_by(*keys):
    return {"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": list(keys)}


SET = {"x-kubernetes-list-type": "set"}
ATOMIC = {"x-kubernetes-map-type": "atomic"}
KEEP = {"x-kubernetes-preserve-unknown-fields": True}
NUMBER = {"type": "integer"}
ANY_TEXT = {"additionalProperties": {"type": "string"}}
CONDITIONS = many(
    obj({"type": text(), "status": text(), "reason": text()}, required=["type"]), **merged_by("type")
)

WIDGET = obj({
    "apiVersion": text(),
    "kind": text(),
    "metadata": obj(),
    "spec": obj({
        "title": text(),
        "count": NUMBER,
        "ratio": {"type": "number"},
        "enabled": {"type": "boolean"},
        "flavour": text(default="plain"),
        "labels": obj(**ANY_TEXT),
        "frozen": obj(**ANY_TEXT, **ATOMIC),
        "nested": obj({"a": obj({"b": obj({"c": text(), "d": text()})}), "e": text()}),
        "tags": many(text(), **SET),
        "numbers": many(NUMBER, **SET),
        "words": many(text()),
        "matrix": many(many(NUMBER)),
        "ports": many(obj({
            "port": NUMBER,
            "protocol": text(default="TCP"),
            "name": text(),
            "target": {"x-kubernetes-int-or-string": True},
            "options": obj(**ANY_TEXT),
        }, required=["port"]), **merged_by("port", "protocol")),
        "items": many(obj({
            "name": text(),
            "value": text(),
            "settings": obj(**ANY_TEXT),
            "subs": many(obj({"id": NUMBER, "note": text()}, required=["id"]), **merged_by("id")),
        }, required=["name"]), **merged_by("name")),
        "structs": obj(additionalProperties=obj({"x": text(), "y": text()})),
        "sealed": obj({"p": text(), "q": text()}, **ATOMIC),
        "free": obj(**KEEP),
        "partly": obj({"known": text(), "list": many(text(), **SET)}, **KEEP),
        "embedded": obj(**KEEP, **{"x-kubernetes-embedded-resource": True}),
        "maybe": text(nullable=True),
        "mixed": {"x-kubernetes-int-or-string": True},
    }),
    "status": obj({"phase": text(), "replicas": NUMBER, "conditions": CONDITIONS}),
})

VERSION = {
    "served": True,
    "schema": {"openAPIV3Schema": WIDGET},
    "subresources": {"status": {}, "scale": {"specReplicasPath": ".spec.count", "statusReplicasPath": ".status.replicas"}},
}

CRD = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {"name": "widgets.merge.example.com"},
    "spec": {
        "group": "merge.example.com",
        "scope": "Namespaced",
        "names": {"plural": "widgets", "kind": "Widget"},
        "versions": [{"name": "v1", "storage": True, **VERSION}, {"name": "v2", "storage": False, **VERSION}],
    },
}

KINDS = {
    "widget": {"apiVersion": "merge.example.com/v1", "kind": "Widget", "resource": "widgets"},
    "configmap": {"apiVersion": "v1", "kind": "ConfigMap", "resource": "configmaps", "component": "io.k8s.api.core.v1.ConfigMap"},
    "service": {"apiVersion": "v1", "kind": "Service", "resource": "services", "component": "io.k8s.api.core.v1.Service"},
    "pod": {"apiVersion": "v1", "kind": "Pod", "resource": "pods", "component": "io.k8s.api.core.v1.Pod"},
    "scale": {"apiVersion": "apps/v1", "kind": "Scale", "resource": "", "component": "io.k8s.api.autoscaling.v1.Scale"},
    "deployment": {"apiVersion": "apps/v1", "kind": "Deployment", "resource": "deployments", "component": "io.k8s.api.apps.v1.Deployment"},
}


def write(verb, manager, body, **more):
    return {"verb": verb, "manager": manager, "body": body, **more}


def create(manager, body, **more):
    return write("create", manager, body, **more)


def update(manager, body, **more):
    return write("update", manager, body, **more)


def merge(manager, body, **more):
    return write("merge", manager, body, **more)


def patch(manager, *operations, **more):
    return write("json", manager, list(operations), **more)


def op(op, path, *value, **more):
    return {"op": op, "path": path, **({"value": value[0]} if value else {}), **more}


def strategic(manager, body, **more):
    return write("strategic", manager, body, **more)


def apply(manager, body, **more):
    return write("apply", manager, body, **more)


def force(manager, body, **more):
    return write("apply", manager, body, force=True, **more)


def spec(**fields):
    return {"spec": fields}


def status(**fields):
    return {"status": fields}


def port(number, **more):
    return {"port": number, **more}


def item(name, **more):
    return {"name": name, **more}


LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"

# Each line: what it shows, and the steps. All on the custom kind, whose lists and maps are of every type.
WIDGETS = {
    "create by update": [create("a", spec(title="x", count=1))],
    "create empty": [create("a", {})],
    "create with empty spec": [create("a", spec())],
    "create all types": [create("a", {"metadata": {"labels": {"l": "1"}, "annotations": {"n": "1"}, "finalizers": ["x/y"]}, **spec(
        title="x", count=1, ratio=1.5, enabled=False, labels={"a": "1"}, frozen={"a": "1"},
        nested={"a": {"b": {"c": "1"}}, "e": "2"}, tags=["x", "y"], numbers=[3, 1], words=["a", "b"], matrix=[[1], [2]],
        ports=[port(80), port(443, name="s", target="https"), port(53, protocol="UDP", target=53)],
        items=[item("a", value="1", settings={"k": "v"}, subs=[{"id": 1, "note": "n"}])],
        structs={"s": {"x": "1"}}, sealed={"p": "1"}, free={"a": {"b": [1, {"c": 2}]}, "d": 1},
        partly={"known": "1", "other": {"x": 1}, "list": ["q"]},
        embedded={"apiVersion": "v1", "kind": "Thing", "metadata": {"name": "n", "labels": {"a": "b"}}, "extra": {"x": 1}},
        maybe=None, mixed=5)})],
    "create by apply": [apply("a", spec(title="x", count=1, labels={"a": "1"}))],
    "create by apply all types": [apply("a", {"metadata": {"labels": {"l": "1"}, "annotations": {"n": "1"}, "finalizers": ["x/y"]}, **spec(
        title="x", ratio=2.0, labels={"a": "1"}, frozen={"a": "1"}, nested={"a": {"b": {"c": "1"}}},
        tags=["x", "y"], numbers=[3, 1], words=["a", "b"], matrix=[[1], [2]],
        ports=[port(80), port(443, name="s", target="https"), port(53, protocol="UDP", target=53)],
        items=[item("a", settings={"k": "v"}, subs=[{"id": 1, "note": "n"}])],
        structs={"s": {"x": "1"}}, sealed={"p": "1"}, free={"a": {"b": [1, {"c": 2}]}, "d": 1},
        partly={"known": "1", "other": {"x": 1}, "list": ["q"]},
        embedded={"apiVersion": "v1", "kind": "Thing", "metadata": {"name": "n", "labels": {"a": "b"}}, "extra": {"x": 1}},
        mixed="7")})],
    "apply is idempotent": [apply("a", spec(title="x", tags=["b", "a"])), apply("a", spec(title="x", tags=["b", "a"]), wait=True)],
    "apply empty": [apply("a", {})],
    "apply empty containers": [apply("a", spec(labels={}, tags=[], words=[], ports=[], free={}, nested={}, frozen={}))],
    "apply empty over filled": [apply("a", spec(labels={"x": "1"}, tags=["q"], words=["w"])), apply("b", spec(labels={}, tags=[]))],
    "apply empty atomics over filled": [apply("a", spec(frozen={"x": "1"}, words=["w"])), force("b", spec(frozen={}, words=[]))],
    "apply fills own empties": [apply("a", spec(labels={}, tags=[], words=[])), apply("a", spec(labels={"x": "1"}, tags=["q"], words=["w"]))],
    "apply null": [apply("a", spec(title="x", maybe=None))],
    "apply null over value": [apply("a", spec(maybe="x")), apply("a", spec(maybe=None))],
    "apply changes own field": [apply("a", spec(title="x")), apply("a", spec(title="y"), wait=True)],
    "apply drops own field": [apply("a", spec(title="x", count=1)), apply("a", spec(title="x"))],
    "apply drops all fields": [apply("a", spec(title="x", count=1)), apply("a", {})],
    "apply drops whole map": [apply("a", spec(title="x", labels={"a": "1", "b": "2"})), apply("a", spec(title="x"))],
    "apply drops map entry": [apply("a", spec(labels={"a": "1", "b": "2"})), apply("a", spec(labels={"a": "1"}))],
    "apply drops last map entry": [apply("a", spec(labels={"a": "1"})), apply("a", spec(labels={}))],
    "apply empties set": [apply("a", spec(tags=["a"])), apply("a", spec(tags=[])), apply("a", spec(tags=[]))],
    "apply empties set beside": [apply("a", spec(title="t", tags=["a"])), apply("a", spec(title="t", tags=[])), apply("a", spec(title="t", tags=[]))],
    "apply empty list owns nothing": [apply("b", spec(items=[])), apply("a", spec())],
    "apply drops set item": [apply("a", spec(tags=["x", "y", "z"])), apply("a", spec(tags=["x", "z"]))],
    "apply drops all set items": [apply("a", spec(tags=["x", "y"], title="t")), apply("a", spec(title="t"))],
    "apply drops list map item": [apply("a", spec(items=[item("a", value="1"), item("b", value="2")])), apply("a", spec(items=[item("b", value="2")]))],
    "apply drops field in item": [apply("a", spec(items=[item("a", value="1", settings={"k": "v"})])), apply("a", spec(items=[item("a", settings={"k": "v"})]))],
    "apply drops nested item": [apply("a", spec(items=[item("a", subs=[{"id": 1, "note": "x"}, {"id": 2, "note": "y"}])])), apply("a", spec(items=[item("a", subs=[{"id": 2, "note": "y"}])]))],
    "apply drops nested leaf": [apply("a", spec(nested={"a": {"b": {"c": "1", "d": "2"}}})), apply("a", spec(nested={"a": {"b": {"d": "2"}}}))],
    "apply drops deepest leaf": [apply("a", spec(nested={"a": {"b": {"c": "1"}}, "e": "1"})), apply("a", spec(nested={"e": "1"}))],
    "apply drops atomic": [apply("a", spec(frozen={"a": "1"}, words=["x"], title="t")), apply("a", spec(title="t"))],
    "apply drops struct entry": [apply("a", spec(structs={"s": {"x": "1"}, "t": {"y": "1"}})), apply("a", spec(structs={"t": {"y": "1"}}))],
    "apply drops free field": [apply("a", spec(free={"a": {"b": 1, "c": 2}, "d": [1]})), apply("a", spec(free={"a": {"c": 2}}))],
    "apply drops label": [apply("a", {"metadata": {"labels": {"x": "1", "y": "2"}}}), apply("a", {"metadata": {"labels": {"y": "2"}}})],
    "apply drops finalizer": [apply("a", {"metadata": {"finalizers": ["x/y", "z/w"]}}), apply("a", {"metadata": {"finalizers": ["z/w"]}})],
    "two appliers of other fields": [apply("a", spec(title="x")), apply("b", spec(count=1))],
    "two appliers of one value": [apply("a", spec(title="x")), apply("b", spec(title="x"))],
    "two appliers of one value later": [apply("a", spec(title="x")), apply("b", spec(title="x"), wait=True), apply("b", spec(title="x"), wait=True)],
    "shared field dropped by one stays": [apply("a", spec(title="x", count=1)), apply("b", spec(title="x")), apply("a", spec(count=1))],
    "shared field dropped by both goes": [apply("a", spec(title="x", count=1)), apply("b", spec(title="x")), apply("a", spec(count=1)), apply("b", {})],
    "conflict": [apply("a", spec(title="x")), apply("b", spec(title="y"))],
    "conflict forced": [apply("a", spec(title="x", count=1)), force("b", spec(title="y"))],
    "conflict forced takes all": [apply("a", spec(title="x")), force("b", spec(title="y"))],
    "conflict with updater": [create("a", spec(title="x")), apply("b", spec(title="y"))],
    "conflict with updater forced": [create("a", spec(title="x", count=2)), force("b", spec(title="y"))],
    "conflicts many": [create("a", spec(title="x", count=1, enabled=True, labels={"k": "1"})), apply("b", spec(title="y", count=2, labels={"k": "2"}))],
    "conflicts with many managers": [create("a", spec(title="x")), apply("b", spec(count=1)), merge("c", spec(ratio=1.5)), apply("d", spec(title="y", count=2, ratio=2.5))],
    "conflict in atomic list": [apply("a", spec(words=["x"])), apply("b", spec(words=["x", "y"]))],
    "conflict in atomic map": [apply("a", spec(frozen={"x": "1"})), apply("b", spec(frozen={"y": "1"}))],
    "conflict in sealed struct": [apply("a", spec(sealed={"p": "1"})), apply("b", spec(sealed={"q": "1"}))],
    "conflict in item": [apply("a", spec(items=[item("a", value="1")])), apply("b", spec(items=[item("a", value="2")]))],
    "conflict in port": [apply("a", spec(ports=[port(80, name="x")])), apply("b", spec(ports=[port(80, name="y")]))],
    "conflict in free": [apply("a", spec(free={"a": {"b": [1]}})), apply("b", spec(free={"a": {"b": [2]}}))],
    "conflict in label": [create("a", {"metadata": {"labels": {"k": "1"}}}), apply("b", {"metadata": {"labels": {"k": "2"}}})],
    "conflict of type": [apply("a", spec(free={"a": {"b": 1}})), apply("b", spec(free={"a": 5}))],
    "type changes by force": [apply("a", spec(free={"a": {"b": 1}})), force("b", spec(free={"a": 5}))],
    "type changes back": [apply("a", spec(free={"a": 5, "b": [1]})), apply("a", spec(free={"a": {"x": 1}, "b": {"y": 2}}))],
    "int or string changes": [apply("a", spec(mixed=5)), apply("a", spec(mixed="5"))],
    "number written otherwise": [apply("a", spec(ratio=1)), apply("b", spec(ratio=1.0))],
    "sets merge": [apply("a", spec(tags=["x", "y"])), apply("b", spec(tags=["y", "z"]))],
    "sets merge then one drops": [apply("a", spec(tags=["x", "y"])), apply("b", spec(tags=["y", "z"])), apply("a", spec(tags=["x"]))],
    "set of numbers": [apply("a", spec(numbers=[2, 10])), apply("b", spec(numbers=[10, 1]))],
    "list maps merge": [apply("a", spec(items=[item("a"), item("b", value="1")])), apply("b", spec(items=[item("c"), item("b", settings={"k": "v"})]))],
    "list map order by applier": [apply("a", spec(items=[item("a"), item("b"), item("c")])), apply("a", spec(items=[item("c"), item("a"), item("b")]))],
    "list map order of two": [apply("a", spec(items=[item("a"), item("b"), item("c"), item("d")])), apply("b", spec(items=[item("d"), item("x"), item("b")]))],
    "list map order with new first": [apply("a", spec(items=[item("a"), item("b")])), apply("b", spec(items=[item("x"), item("b"), item("y"), item("a"), item("z")]))],
    "set order": [apply("a", spec(tags=["a", "b", "c", "d"])), apply("b", spec(tags=["d", "x", "b"]))],
    "ports with default keys": [apply("a", spec(ports=[port(80, name="x")])), apply("b", spec(ports=[port(80, protocol="TCP", target=8080)]))],
    "ports of two protocols": [apply("a", spec(ports=[port(53, protocol="UDP"), port(53, protocol="TCP")])), apply("a", spec(ports=[port(53, protocol="UDP")]))],
    "ports default dropped": [apply("a", spec(ports=[port(80, protocol="TCP", name="x")])), apply("a", spec(ports=[port(80, name="x")]))],
    "item field by update stays": [apply("a", spec(items=[item("a", value="1")])), merge("u", spec(items=[item("a", value="1", settings={"k": "v"})])), apply("a", spec(title="x"))],
    "map entry by update stays": [apply("a", spec(labels={"a": "1"})), merge("u", spec(labels={"b": "2"})), apply("a", {})],
    "update takes from applier": [apply("a", spec(title="x", count=1)), merge("u", spec(title="y"))],
    "update takes all from applier": [apply("a", spec(title="x")), merge("u", spec(title="y"))],
    "update takes then applier conflicts": [apply("a", spec(title="x")), merge("u", spec(title="y")), apply("a", spec(title="x"))],
    "update takes then applier agrees": [apply("a", spec(title="x")), merge("u", spec(title="y")), apply("a", spec(title="y"))],
    "update removes field": [apply("a", spec(title="x", count=1)), merge("u", spec(title=None))],
    "update removes all": [apply("a", spec(title="x")), merge("u", {"spec": None})],
    "update removes map entry": [apply("a", spec(labels={"a": "1", "b": "2"})), merge("u", spec(labels={"a": None}))],
    "update removes map": [apply("a", spec(labels={"a": "1"}, title="x")), merge("u", spec(labels=None))],
    "update removes set item": [apply("a", spec(tags=["x", "y"])), patch("u", op("remove", "/spec/tags/0"))],
    "update removes item": [apply("a", spec(items=[item("a", value="1"), item("b")])), patch("u", op("remove", "/spec/items/0"))],
    "update adds item": [apply("a", spec(items=[item("a", value="1")])), patch("u", op("add", "/spec/items/-", {"name": "b", "subs": [{"id": 1}]}))],
    "update changes item": [apply("a", spec(items=[item("a", value="1")])), patch("u", op("replace", "/spec/items/0/value", "2"))],
    "update reorders": [apply("a", spec(items=[item("a"), item("b")], words=["x", "y"])), merge("u", spec(items=[item("b"), item("a")], words=["y", "x"]))],
    "update changes atomic": [apply("a", spec(frozen={"a": "1"}, words=["x"])), merge("u", spec(frozen={"b": "2"}, words=["x", "y"]))],
    "update changes embedded": [create("a", spec(embedded={"apiVersion": "v1", "kind": "Thing", "metadata": {"name": "n", "labels": {"a": "b"}}, "x": {"y": 1}})), merge("u", spec(embedded={"metadata": {"labels": {"c": "d"}}, "x": {"z": 2}}))],
    "update without effect": [create("a", spec(title="x")), merge("u", spec(title="x"), wait=True)],
    "update of labels": [create("a", {"metadata": {"labels": {"x": "1"}}}), merge("u", {"metadata": {"labels": {"y": "2"}, "annotations": {"n": "1"}}}), merge("v", {"metadata": {"labels": {"x": None}}})],
    "update of owner references": [create("a", {}), merge("u", {"metadata": {"ownerReferences": [{"apiVersion": "v1", "kind": "ConfigMap", "name": "n", "uid": "1234"}]}}), merge("v", {"metadata": {"ownerReferences": [{"apiVersion": "v1", "kind": "ConfigMap", "name": "n", "uid": "1234", "controller": True}]}})],
    "update of finalizers": [create("a", {"metadata": {"finalizers": ["x/y"]}}), merge("u", {"metadata": {"finalizers": ["x/y", "z/w"]}})],
    "same manager updates again": [create("a", spec(title="x")), merge("a", spec(count=1), wait=True), merge("a", spec(title="y"))],
    "same name applies and updates": [create("a", spec(title="x")), apply("a", spec(title="x", count=1)), merge("a", spec(count=2)), apply("a", spec(title="x", count=1))],
    "put keeps managed fields": [create("a", spec(title="x")), update("b", spec(title="y"))],
    "put without managed fields": [create("a", spec(title="x")), update("b", {"metadata": {"managedFields": None}, "spec": {"title": "y"}}, sent=None)],
    "put empty managed fields": [create("a", spec(title="x")), update("b", {"metadata": {"managedFields": []}, "spec": {"title": "y"}}, sent=[]), merge("c", spec(count=1)), apply("d", spec(enabled=True))],
    "put blank managed fields": [create("a", spec(title="x")), update("b", {"metadata": {"managedFields": [{}]}}, sent=[{}]), apply("d", spec(title="y"))],
    "patch resets managed fields": [create("a", spec(title="x", labels={"a": "1"})), merge("b", {"metadata": {"managedFields": [{}]}}, sent=[{}]), apply("d", spec(title="x"))],
    "json patch resets managed fields": [create("a", spec(title="x")), patch("b", op("replace", "/metadata/managedFields", [{}]), sent=[{}])],
    "put other managed fields": [create("a", spec(title="x", count=1)), update("b", {"metadata": {"managedFields": [{"manager": "z", "operation": "Apply", "apiVersion": "merge.example.com/v1", "time": "2020-01-01T00:00:00Z", "fieldsType": "FieldsV1", "fieldsV1": {"f:spec": {"f:title": {}}}}]}}, sent="body")],
    "put bad managed fields": [create("a", spec(title="x")), update("b", {"metadata": {"managedFields": [{"manager": "z", "operation": "Bad", "apiVersion": "merge.example.com/v1", "fieldsType": "FieldsV1", "fieldsV1": {}}]}, "spec": {"count": 3}}, sent="body")],
    "put managed fields of unknown version": [create("a", spec(title="x")), update("b", {"metadata": {"managedFields": [{"manager": "z", "operation": "Update", "apiVersion": "merge.example.com/v9", "time": "2020-01-01T00:00:00Z", "fieldsType": "FieldsV1", "fieldsV1": {"f:spec": {"f:title": {}}}}]}, "spec": {"count": 3}}, sent="body"), apply("c", spec(title="x"))],
    "put managed fields of unknown type": [create("a", spec(title="x")), update("b", {"metadata": {"managedFields": [{"manager": "z", "operation": "Update", "apiVersion": "merge.example.com/v1", "fieldsType": "FieldsV9", "fieldsV1": {"f:spec": {"f:title": {}}}}]}, "spec": {"count": 3}}, sent="body")],
    "create with managed fields": [create("a", {"metadata": {"managedFields": [{"manager": "z", "operation": "Update", "apiVersion": "merge.example.com/v1", "time": "2020-01-01T00:00:00Z", "fieldsType": "FieldsV1", "fieldsV1": {"f:spec": {"f:title": {}}}}]}, "spec": {"title": "x"}}, sent="body")],
    "before first apply": [create("a", spec(title="x", labels={"a": "1"}, items=[item("a", value="1")], tags=["q"])), update("b", {"metadata": {"managedFields": []}}, sent=[]), apply("c", spec(title="y"))],
    "before first apply agreed": [create("a", spec(title="x", labels={"a": "1"})), update("b", {"metadata": {"managedFields": []}}, sent=[]), apply("c", spec(title="x")), apply("c", {})],
    "status by main is not owned": [create("a", {**spec(title="x"), **status(phase="p")}), merge("b", {**spec(count=1), **status(phase="q")})],
    "status by apply to main is not owned": [apply("a", {**spec(title="x"), **status(phase="p")})],
    "status by status": [create("a", spec(title="x")), merge("b", status(phase="p"), subresource="status"), merge("c", status(conditions=[{"type": "T", "status": "True"}]), subresource="status")],
    "status applied": [create("a", spec(title="x")), apply("b", status(phase="p", conditions=[{"type": "T", "status": "True"}]), subresource="status"), apply("c", status(conditions=[{"type": "U", "status": "True"}]), subresource="status"), apply("b", status(phase="p"), subresource="status")],
    "status conflict": [create("a", spec(title="x")), apply("b", status(phase="p"), subresource="status"), apply("c", status(phase="q"), subresource="status"), force("c", status(phase="q"), subresource="status")],
    "status conflict with updater": [create("a", spec(title="x")), merge("b", status(phase="p"), subresource="status"), apply("c", status(phase="q"), subresource="status")],
    "status write leaves spec alone": [create("a", spec(title="x")), merge("b", {**spec(title="y"), **status(phase="p")}, subresource="status")],
    "status applied with spec": [create("a", spec(title="x")), apply("b", {**spec(title="y"), **status(phase="p")}, subresource="status")],
    "status put": [create("a", spec(title="x")), update("b", status(phase="p", replicas=1), subresource="status")],
    "spec put keeps status owner": [create("a", spec(title="x")), merge("b", status(phase="p"), subresource="status"), update("c", spec(title="y"))],
    "status put with managed fields": [create("a", spec(title="x")), update("b", {"metadata": {"managedFields": []}, **status(phase="p")}, subresource="status", sent=[])],
    "main applier then status applier": [apply("a", spec(title="x")), apply("a", status(phase="p"), subresource="status"), apply("a", spec(count=1)), apply("a", status(), subresource="status")],
    "two versions apply": [apply("a", spec(title="x", count=1)), apply("a", spec(title="x"), version="merge.example.com/v2")],
    "two versions update": [create("a", spec(title="x")), merge("a", spec(count=1), version="merge.example.com/v2"), merge("a", spec(title="y"), version="merge.example.com/v2")],
    "two versions conflict": [create("a", spec(title="x")), apply("b", spec(title="y"), version="merge.example.com/v2")],
    "manager from user agent": [create("", spec(title="x"), agent="my agent (x)/1.2"), merge("", spec(count=1), agent="other")],
    "many updaters": [create("m00", spec(labels={"l00": "1"}))] + [merge(f"m{n:02}", spec(labels={f"l{n:02}": "1"})) for n in range(1, 14)],
    "many updaters in two versions": [create("m00", spec(labels={"l00": "1"}))] + [merge(f"m{n:02}", spec(labels={f"l{n:02}": "1"}), version="merge.example.com/v%d" % (1 + n % 2), wait=n % 4 == 0) for n in range(1, 14)],
    "many updaters and appliers": [apply("a", spec(title="x"))] + [merge(f"m{n:02}", spec(labels={f"l{n:02}": "1"})) for n in range(1, 12)] + [apply("b", spec(count=1)), merge("z", spec(title="q"))],
    "field names with dots": [apply("a", {"metadata": {"annotations": {"a.b/c": "1", "d.e": "2"}}}), apply("a", {"metadata": {"annotations": {"d.e": "2"}}})],
    "values with special characters": [apply("a", spec(tags=["<a>&b", "q\"uote", "back\\slash", "é", "line\nbreak"], labels={"<k>": "v"}))],
    "kubectl takes over": [create("kubectl-client-side-apply", {"metadata": {"annotations": {LAST_APPLIED: '{"apiVersion":"merge.example.com/v1","kind":"Widget","metadata":{"annotations":{},"name":"x"},"spec":{"title":"x","count":1}}'}}, **spec(title="x", count=1)}), apply("kubectl", spec(title="y", count=1))],
    "kubectl takes over in part": [create("kubectl-client-side-apply", {"metadata": {"annotations": {LAST_APPLIED: '{"apiVersion":"merge.example.com/v1","kind":"Widget","metadata":{"annotations":{},"name":"x"},"spec":{"title":"x","count":1}}'}}, **spec(title="x", count=1)}), merge("other", spec(count=5)), apply("kubectl", spec(title="y", count=1))],
    "kubectl drops field after take over": [create("kubectl-client-side-apply", {"metadata": {"annotations": {LAST_APPLIED: '{"apiVersion":"merge.example.com/v1","kind":"Widget","metadata":{"annotations":{},"name":"x"},"spec":{"title":"x","count":1}}'}}, **spec(title="x", count=1)}), apply("kubectl", spec(title="y")), apply("kubectl", {"metadata": {"annotations": {"u": "<1>"}}, **spec(title="z")})],
    "kubectl with annotation of other version": [create("kubectl-client-side-apply", {"metadata": {"annotations": {LAST_APPLIED: '{"apiVersion":"merge.example.com/v2","kind":"Widget","metadata":{"name":"x"},"spec":{"title":"x"}}'}}, **spec(title="x")}), apply("kubectl", spec(title="y"))],
    "kubectl with broken annotation": [create("kubectl-client-side-apply", {"metadata": {"annotations": {LAST_APPLIED: "nope"}}, **spec(title="x")}), apply("kubectl", spec(title="y"))],
    "other applier with annotation": [create("kubectl-client-side-apply", {"metadata": {"annotations": {LAST_APPLIED: '{"apiVersion":"merge.example.com/v1","kind":"Widget","metadata":{"name":"x"},"spec":{"title":"x"}}'}}, **spec(title="x")}), apply("mine", spec(title="y"))],
}

WIDGET_ERRORS = {
    "duplicate item": [apply("a", spec(items=[item("a"), item("a")]))],
    "duplicate port by default key": [apply("a", spec(ports=[port(80), port(80, protocol="TCP")]))],
    "duplicate set item": [apply("a", spec(tags=["x", "x"]))],
    "duplicate number": [apply("a", spec(numbers=[1, 1]))],
    "item without key": [apply("a", spec(items=[{"value": "1"}]))],
    "item not a map": [apply("a", spec(items=["a"]))],
    "item null": [apply("a", spec(items=[None]))],
    "set item a map": [apply("a", spec(tags=[{"a": 1}]))],
    "set item a list": [apply("a", spec(tags=[["a"]]))],
    "set item null": [apply("a", spec(tags=[None]))],
    "undeclared field": [apply("a", spec(nope=1))],
    "undeclared field in item": [apply("a", spec(items=[item("a", nope=1)]))],
    "text for number": [apply("a", spec(count="x"))],
    "number for text": [apply("a", spec(title=5))],
    "map for text": [apply("a", spec(title={"a": "b"}))],
    "list for text": [apply("a", spec(title=["a", 1]))],
    "text for flag": [apply("a", spec(enabled="yes"))],
    "text for map": [apply("a", spec(labels="x"))],
    "text for list": [apply("a", spec(items="x"))],
    "map for list": [apply("a", spec(words={"a": "b"}))],
    "number in map": [apply("a", spec(labels={"a": 1}))],
    "number in atomic list": [apply("a", spec(words=["a", 1]))],
    "number in atomic map": [apply("a", spec(frozen={"a": 1}))],
    "map for mixed": [apply("a", spec(mixed={"a": 1}))],
    "managed fields sent": [apply("a", {"metadata": {"managedFields": [{"manager": "a"}]}})],
    "managed fields empty": [apply("a", {"metadata": {"managedFields": []}, "spec": {"title": "x"}})],
    "other kind": [apply("a", {"kind": "Gadget"})],
    "other version": [apply("a", {"apiVersion": "merge.example.com/v2"})],
    "other group": [apply("a", {"apiVersion": "v1"})],
    "no kind": [apply("a", {"metadata": {"name": "merge-no-kind"}}, bare=True)],
    "several mistakes in items": [apply("a", spec(items=[item("a", value=1), item("b", value=2)]))],
    "error on live object": [create("a", spec(title="x")), apply("b", spec(items=[{"value": "1"}]))],
}

CONTAINER = {"name": "c", "image": "nginx"}


def pod_spec(*containers, **more):
    return {"containers": list(containers), **more}


def deployment(*containers, **more):
    pod = more.pop("pod", {})
    return spec(
        selector={"matchLabels": {"app": "x"}},
        template={"metadata": {"labels": {"app": "x"}}, "spec": pod_spec(*containers, **pod)},
        **more,
    )


def template(**pod):
    return spec(template={"spec": pod})


REDEFAULTED = {"redefaulted": True}

DEPLOYMENTS = {
    "create": [create("a", deployment(CONTAINER, replicas=2))],
    "create full": [create("a", deployment(
        {**CONTAINER, "ports": [{"containerPort": 80}, {"containerPort": 53, "protocol": "UDP", "name": "dns"}], "env": [{"name": "A", "value": "1"}, {"name": "B", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}}], "args": ["x"], "volumeMounts": [{"name": "v", "mountPath": "/v"}], "resources": {"limits": {"cpu": "1", "memory": "1Gi"}}, "livenessProbe": {"httpGet": {"port": 80}}, "securityContext": {"capabilities": {"drop": ["ALL"]}}},
        pod={"volumes": [{"name": "v", "emptyDir": {}}, {"name": "w", "configMap": {"name": "c"}}], "tolerations": [{"key": "k", "operator": "Exists"}], "nodeSelector": {"a": "b"}, "topologySpreadConstraints": [{"maxSkew": 1, "topologyKey": "z", "whenUnsatisfiable": "DoNotSchedule", "labelSelector": {"matchLabels": {"app": "x"}}}], "affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [{"matchExpressions": [{"key": "a", "operator": "Exists"}]}]}}}, "imagePullSecrets": [{"name": "s"}], "hostAliases": [{"ip": "1.2.3.4", "hostnames": ["h"]}]},
        strategy={"type": "Recreate"}, minReadySeconds=1))],
    "apply": [apply("a", deployment(CONTAINER, replicas=2))],
    "apply full": [apply("a", deployment(
        {**CONTAINER, "ports": [{"containerPort": 80, "protocol": "TCP"}], "env": [{"name": "A", "value": "1"}], "resources": {"requests": {"cpu": "1"}}},
        pod={"volumes": [{"name": "v", "emptyDir": {}}]}, strategy={"rollingUpdate": {"maxSurge": 1}}))],
    "scale conflict": [create("kubectl-client-side-apply", deployment(CONTAINER, replicas=1)), apply("a", deployment(CONTAINER, replicas=2))],
    "image and replicas conflict": [create("kubectl-client-side-apply", deployment(CONTAINER, replicas=1)), apply("a", deployment({**CONTAINER, "image": "other"}, replicas=2)), force("a", deployment({**CONTAINER, "image": "other"}, replicas=2))],
    "autoscaler takes replicas": [apply("a", deployment(CONTAINER, replicas=2)), merge("hpa", spec(replicas=5)), apply("a", deployment(CONTAINER))],
    "applier drops replicas": [apply("a", deployment(CONTAINER, replicas=2)), apply("a", deployment(CONTAINER), **REDEFAULTED)],
    "applier drops container": [apply("a", deployment(CONTAINER, {**CONTAINER, "name": "d"})), apply("a", deployment(CONTAINER))],
    "applier drops env": [apply("a", deployment({**CONTAINER, "env": [{"name": "A", "value": "1"}, {"name": "B", "value": "2"}]})), apply("a", deployment({**CONTAINER, "env": [{"name": "B", "value": "2"}]})), apply("a", deployment(CONTAINER))],
    "two appliers two containers": [apply("a", deployment(CONTAINER)), apply("b", template(containers=[{"name": "side", "image": "s"}])), apply("a", deployment({**CONTAINER, "image": "n2"})), apply("b", {})],
    "set image": [create("kubectl-create", deployment(CONTAINER)), strategic("kubectl-set", template(containers=[{"name": "c", "image": "n2"}]))],
    "rollout restart": [create("a", deployment(CONTAINER)), strategic("kubectl-rollout", spec(template={"metadata": {"annotations": {"kubectl.kubernetes.io/restartedAt": "now"}}}))],
    "status by controller": [create("a", deployment(CONTAINER)), merge("kube-controller-manager", {**status(observedGeneration=1, replicas=1, conditions=[{"type": "Available", "status": "True", "lastUpdateTime": "2020-01-01T00:00:00Z", "lastTransitionTime": "2020-01-01T00:00:00Z"}]), "metadata": {"annotations": {"deployment.kubernetes.io/revision": "1"}}}, subresource="status"), merge("kube-controller-manager", {"metadata": {"annotations": {"deployment.kubernetes.io/revision": "1"}}})],
    "status applied": [create("a", deployment(CONTAINER)), apply("b", status(replicas=1, conditions=[{"type": "Available", "status": "True"}]), subresource="status")],
    "strategic delete container": [create("a", deployment(CONTAINER, {**CONTAINER, "name": "d"})), strategic("b", template(containers=[{"name": "d", "$patch": "delete"}]))],
    "strategic replace containers": [create("a", deployment(CONTAINER, {**CONTAINER, "name": "d"})), strategic("b", template(containers=[{"$patch": "replace"}, {"name": "e", "image": "x"}]))],
    "strategic add container with order": [create("a", deployment(CONTAINER, {**CONTAINER, "name": "d"})), strategic("b", template(**{"$setElementOrder/containers": [{"name": "d"}, {"name": "n"}, {"name": "c"}], "containers": [{"name": "n", "image": "x"}]}))],
    "strategic order only": [create("a", deployment(CONTAINER, {**CONTAINER, "name": "d"})), strategic("b", template(**{"$setElementOrder/containers": [{"name": "d"}, {"name": "c"}]}))],
    "strategic order keeps server items": [create("a", deployment(CONTAINER, {**CONTAINER, "name": "d"}, {**CONTAINER, "name": "e"})), strategic("b", template(**{"$setElementOrder/containers": [{"name": "e"}, {"name": "c"}], "containers": [{"name": "e", "image": "y"}]}))],
    "strategic retain keys": [create("a", deployment(CONTAINER)), strategic("b", spec(strategy={"$retainKeys": ["type"], "type": "Recreate"}))],
    "strategic retain keys on volume": [create("a", deployment(CONTAINER, pod={"volumes": [{"name": "v", "emptyDir": {}}]})), strategic("b", template(volumes=[{"$retainKeys": ["name", "configMap"], "name": "v", "configMap": {"name": "c"}}]))],
    "strategic nulls": [create("a", deployment({**CONTAINER, "env": [{"name": "A", "value": "1"}], "command": ["x"]}, pod={"nodeSelector": {"a": "b", "c": "d"}})), strategic("b", template(nodeSelector={"a": None}, containers=[{"name": "c", "command": None}]))],
    "strategic atomic lists": [create("a", deployment({**CONTAINER, "args": ["x", "y"]}, pod={"tolerations": [{"key": "k", "operator": "Exists"}]})), strategic("b", template(containers=[{"name": "c", "args": ["z"]}], tolerations=[{"key": "l", "operator": "Exists"}]))],
    "strategic ports by merge key": [create("a", deployment({**CONTAINER, "ports": [{"containerPort": 80}, {"containerPort": 81}]})), strategic("b", template(containers=[{"name": "c", "ports": [{"containerPort": 80, "name": "web"}, {"containerPort": 82}]}]))],
    "strategic env order": [create("a", deployment({**CONTAINER, "env": [{"name": "A", "value": "1"}, {"name": "B", "value": "2"}, {"name": "C", "value": "3"}]})), strategic("b", template(containers=[{"name": "c", "env": [{"name": "D", "value": "4"}, {"name": "B", "value": "9"}], "$setElementOrder/env": [{"name": "A"}, {"name": "D"}, {"name": "B"}]}]))],
    "strategic replace selector map": [create("a", deployment(CONTAINER, pod={"nodeSelector": {"a": "b"}})), strategic("b", template(nodeSelector={"$patch": "replace", "x": "y"}))],
    "strategic delete map": [create("a", deployment(CONTAINER, pod={"nodeSelector": {"a": "b"}})), strategic("b", template(nodeSelector={"$patch": "delete"}))],
    "strategic without merge key": [create("a", deployment(CONTAINER)), strategic("b", template(containers=[{"image": "x"}]))],
    "strategic unknown directive": [create("a", deployment(CONTAINER)), strategic("b", template(containers=[{"name": "c", "$patch": "bogus"}]))],
    "strategic merge directive": [create("a", deployment(CONTAINER)), strategic("b", template(containers=[{"name": "c", "$patch": "merge"}]))],
    "strategic unknown map directive": [create("a", deployment(CONTAINER)), strategic("b", spec(strategy={"$patch": "bogus"}))],
    "strategic bad retain keys": [create("a", deployment(CONTAINER)), strategic("b", spec(strategy={"$retainKeys": ["nope"], "type": "Recreate"}))],
    "strategic retain keys not a list": [create("a", deployment(CONTAINER)), strategic("b", spec(strategy={"$retainKeys": "type"}))],
    "strategic order does not match": [create("a", deployment(CONTAINER)), strategic("b", template(**{"$setElementOrder/containers": [{"name": "c"}], "containers": [{"name": "q", "image": "1"}]}))],
    "strategic order not a list": [create("a", deployment(CONTAINER)), strategic("b", template(**{"$setElementOrder/containers": "x"}))],
    "strategic order without name": [create("a", deployment(CONTAINER)), strategic("b", template(**{"$setElementOrder": []}))],
    "strategic order without key": [create("a", deployment(CONTAINER)), strategic("b", template(**{"$setElementOrder/containers": [{"nam": "c"}], "containers": [{"name": "c", "image": "1"}]}))],
    "strategic order of scalars": [create("a", deployment(CONTAINER)), strategic("b", template(**{"$setElementOrder/containers": ["c"], "containers": [{"name": "c", "image": "1"}]}))],
    "strategic delete list without name": [create("a", deployment(CONTAINER)), strategic("b", {"metadata": {"$deleteFromPrimitiveList": ["a"]}})],
    "strategic mixed list": [create("a", {"metadata": {"finalizers": ["x/y"]}, **deployment(CONTAINER)}), strategic("b", {"metadata": {"finalizers": ["z/y", 5]}})],
    "kubectl client side apply then server side": [create("kubectl-client-side-apply", {"metadata": {"annotations": {LAST_APPLIED: '{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"annotations":{},"name":"x"},"spec":{"replicas":1,"selector":{"matchLabels":{"app":"x"}},"template":{"metadata":{"labels":{"app":"x"}},"spec":{"containers":[{"image":"nginx","name":"c"}]}}}}\n'}}, **deployment(CONTAINER, replicas=1)}), apply("kubectl", deployment({**CONTAINER, "image": "n2"}, replicas=3))],
    "scale by scale": [create("a", deployment(CONTAINER, replicas=1)), update("b", spec(replicas=3), subresource="scale"), merge("c", spec(replicas=3), subresource="scale"), merge("c", spec(replicas=4), subresource="scale")],
    "scale of applier": [apply("a", deployment(CONTAINER, replicas=1)), merge("b", spec(replicas=3), subresource="scale"), apply("a", deployment(CONTAINER, replicas=1))],
    "scale without effect": [apply("a", deployment(CONTAINER, replicas=1)), merge("b", spec(replicas=1), subresource="scale")],
    "scale of updater without effect": [create("a", deployment(CONTAINER, replicas=1)), merge("b", spec(replicas=1), subresource="scale"), merge("b", spec(replicas=2), subresource="scale"), merge("a", spec(replicas=2))],
    "put managed fields of unknown version": [create("a", deployment(CONTAINER)), update("b", {"metadata": {"managedFields": [{"manager": "z", "operation": "Update", "apiVersion": "apps/v9", "time": "2020-01-01T00:00:00Z", "fieldsType": "FieldsV1", "fieldsV1": {"f:spec": {"f:replicas": {}}}}, {"manager": "y", "operation": "Apply", "apiVersion": "apps/v1", "time": "2020-01-01T00:00:00+02:00", "fieldsType": "FieldsV1", "fieldsV1": {"f:spec": {"f:paused": {}, "f:minReadySeconds": {}}}}]}, "spec": {"paused": True}}, sent="body"), apply("c", spec(minReadySeconds=4))],
    "scale applied": [apply("a", deployment(CONTAINER, replicas=1)), apply("b", spec(replicas=1), subresource="scale"), apply("b", spec(replicas=2), subresource="scale"), force("b", spec(replicas=2), subresource="scale")],
    "apply duplicate container": [apply("a", deployment(CONTAINER, CONTAINER))],
    "apply duplicate env": [apply("a", deployment({**CONTAINER, "env": [{"name": "A", "value": "1"}, {"name": "A", "value": "2"}]}))],
    "apply over duplicate env": [create("u", deployment({**CONTAINER, "env": [{"name": "A", "value": "1"}, {"name": "A", "value": "2"}, {"name": "B", "value": "3"}]})), apply("a", deployment(CONTAINER)), apply("a", deployment({**CONTAINER, "env": [{"name": "B", "value": "3"}]})), force("a", deployment({**CONTAINER, "env": [{"name": "A", "value": "3"}]}))],
    "update of duplicate env": [create("u", deployment({**CONTAINER, "env": [{"name": "A", "value": "1"}, {"name": "A", "value": "2"}]})), patch("v", op("replace", "/spec/template/spec/containers/0/env/1/value", "5")), patch("w", op("remove", "/spec/template/spec/containers/0/env/0")), patch("x", op("add", "/spec/template/spec/containers/0/env/-", {"name": "A", "value": "9"}))],
    "apply undeclared field": [apply("a", deployment({**CONTAINER, "nope": 1}))],
    "apply text for number": [apply("a", deployment(CONTAINER, replicas="x"))],
    "before first apply": [create("a", deployment(CONTAINER, replicas=1)), merge("b", {"metadata": {"managedFields": []}}, sent=[]), apply("c", deployment(CONTAINER, replicas=1))],
    "owner references": [create("a", deployment(CONTAINER)), strategic("b", {"metadata": {"ownerReferences": [{"apiVersion": "v1", "kind": "Node", "name": "n", "uid": "u1"}]}}), strategic("c", {"metadata": {"ownerReferences": [{"$patch": "delete", "uid": "u1"}, {"apiVersion": "v1", "kind": "Node", "name": "m", "uid": "u2"}]}})],
}


def service(*ports, **more):
    return spec(ports=list(ports), selector={"app": "x"}, **more)


SERVICES = {
    "create": [create("a", service({"port": 80}))],
    "apply": [apply("a", service({"port": 80}))],
    "apply named ports": [apply("a", service({"name": "a", "port": 80}, {"name": "b", "port": 443, "targetPort": "https"}))],
    "apply same port of two protocols": [apply("a", service({"name": "t", "port": 53, "protocol": "TCP"}, {"name": "u", "port": 53, "protocol": "UDP"})), apply("a", service({"name": "t", "port": 53}))],
    "two appliers of ports": [apply("a", service({"name": "a", "port": 80})), apply("b", spec(ports=[{"name": "b", "port": 81}])), apply("a", {})],
    "default key and explicit key": [apply("a", service({"name": "a", "port": 80})), apply("b", spec(ports=[{"port": 80, "protocol": "TCP", "name": "a"}]))],
    "conflict on target port": [create("u", service({"port": 80, "targetPort": 8080})), apply("a", service({"port": 80, "targetPort": 9090}))],
    "conflict on port name": [apply("u", service({"port": 80, "name": "x"})), apply("a", service({"port": 80, "name": "y"}))],
    "duplicate port": [apply("a", service({"name": "a", "port": 80}, {"name": "b", "port": 80}))],
    "session affinity by update": [apply("a", service({"port": 80})), merge("b", spec(sessionAffinity="ClientIP"))],
    "status of load balancer": [create("a", service({"port": 80}, type="LoadBalancer")), merge("ccm", status(loadBalancer={"ingress": [{"ip": "1.2.3.4"}]}), subresource="status")],
    "strategic port by merge key": [create("a", service({"name": "a", "port": 80})), strategic("b", spec(ports=[{"port": 80, "targetPort": 99}, {"name": "n", "port": 81}]))],
    "type changes by apply": [apply("a", service({"port": 80})), apply("a", service({"port": 80}, type="NodePort"))],
}

PODS = {
    "create": [create("kubelet", {"spec": pod_spec(CONTAINER)})],
    "apply": [apply("a", {"metadata": {"labels": {"a": "b"}}, "spec": pod_spec(CONTAINER)})],
    "status by kubelet": [create("a", {"spec": pod_spec(CONTAINER)}), strategic("kubelet", status(phase="Running", conditions=[{"type": "Ready", "status": "True"}], podIPs=[{"ip": "1.2.3.4"}], podIP="1.2.3.4"), subresource="status"), strategic("kubelet", status(conditions=[{"type": "Ready", "status": "False", "reason": "x"}]), subresource="status")],
    "label by other": [apply("a", {"metadata": {"labels": {"a": "b"}}, "spec": pod_spec(CONTAINER)}), merge("b", {"metadata": {"labels": {"c": "d"}}}), merge("c", {"metadata": {"labels": {"a": "z"}}}), apply("a", {"metadata": {"labels": {"a": "b"}}, "spec": pod_spec(CONTAINER)})],
    "image by update": [apply("a", {"spec": pod_spec(CONTAINER)}), strategic("b", {"spec": pod_spec({"name": "c", "image": "n2"})})],
    "ephemeral container": [create("a", {"spec": pod_spec(CONTAINER)}), strategic("debugger", {"metadata": {"labels": {"not": "mine"}}, "spec": {"ephemeralContainers": [{"name": "d", "image": "sh"}]}}, subresource="ephemeralcontainers")],
    "host ports": [apply("a", {"spec": pod_spec({**CONTAINER, "ports": [{"containerPort": 80, "hostPort": 80}, {"containerPort": 80, "protocol": "UDP"}]})})],
    "resources": [apply("a", {"spec": pod_spec({**CONTAINER, "resources": {"requests": {"cpu": "100m", "memory": "1Gi"}}})}), apply("b", {"spec": pod_spec({"name": "c", "resources": {"requests": {"cpu": "0.1"}}})})],
}

CONFIGMAPS = {
    "create": [create("a", {"data": {"k": "v"}})],
    "update without effect": [create("a", {"data": {"k": "v"}}), merge("a", {"data": {"k": "v"}}, wait=True), merge("b", {"data": {"k": "v"}}, wait=True)],
    "update back and forth": [create("a", {"data": {"k": "v"}}), merge("a", {"data": {"k": "w"}}, wait=True), merge("a", {"data": {"l": "w"}}, wait=True)],
    "create without data": [create("a", {})],
    "create with empty data": [create("a", {"data": {}})],
    "apply": [apply("a", {"data": {"k": "v"}, "binaryData": {"b": "eHg="}})],
    "apply without data": [apply("a", {})],
    "apply empty data": [apply("a", {"data": {}})],
    "apply empty data then fill": [apply("a", {"data": {}}), apply("a", {"data": {"k": "v"}})],
    "idempotent": [apply("a", {"data": {"k": "v"}}), apply("a", {"data": {"k": "v"}}, wait=True)],
    "two appliers": [apply("a", {"data": {"k": "v"}}), apply("b", {"data": {"l": "w"}}), apply("a", {"data": {"m": "x"}}), apply("b", {})],
    "shared entry": [apply("a", {"data": {"k": "v"}}), apply("b", {"data": {"k": "v"}}), apply("a", {}), apply("b", {})],
    "conflict": [apply("a", {"data": {"k": "v"}}), apply("b", {"data": {"k": "w"}}), force("b", {"data": {"k": "w"}}), apply("a", {"data": {"k": "v"}})],
    "update takes": [apply("a", {"data": {"k": "v", "l": "1"}}), merge("b", {"data": {"k": "w"}}), apply("a", {"data": {"l": "1"}})],
    "update removes": [apply("a", {"data": {"k": "v", "l": "1"}}), merge("b", {"data": {"k": None}}), merge("b", {"data": None})],
    "json patch": [create("a", {"data": {"k": "v"}}), patch("b", op("add", "/data/l", "w"), op("test", "/data/k", "v"), op("move", "/data/m", **{"from": "/data/k"}))],
    "put": [create("a", {"data": {"k": "v"}}), update("b", {"data": {"k": None, "l": "w"}})],
    "put resets": [create("a", {"data": {"k": "v"}}), update("b", {"metadata": {"managedFields": [{}]}, "data": {"l": "w"}}, sent=[{}]), apply("c", {"data": {"l": "x"}})],
    "annotations of many": [create("a", {"metadata": {"annotations": {"a": "1"}}}), strategic("b", {"metadata": {"annotations": {"b": "2"}}}), strategic("c", {"metadata": {"annotations": {"a": None}}})],
    "immutable flag": [create("a", {"data": {"k": "v"}}), apply("b", {"immutable": True})],
    "many updaters": [create("m00", {"data": {"l00": "1"}})] + [merge(f"m{n:02}", {"data": {f"l{n:02}": "1"}}) for n in range(1, 13)],
    "finalizers": [create("a", {"metadata": {"finalizers": ["x/a", "x/b"]}}), strategic("b", {"metadata": {"$deleteFromPrimitiveList/finalizers": ["x/a"]}}), strategic("c", {"metadata": {"finalizers": ["x/c"]}}), strategic("d", {"metadata": {"$setElementOrder/finalizers": ["x/c", "x/d", "x/b"], "finalizers": ["x/d"]}})],
    "other kind": [apply("a", {"kind": "Secret"})],
    "other version": [apply("a", {"apiVersion": "v2"})],
    "managed fields sent": [apply("a", {"metadata": {"managedFields": [{"manager": "x", "operation": "Apply", "apiVersion": "v1", "fieldsType": "FieldsV1", "fieldsV1": {}}]}})],
    "number in data": [apply("a", {"data": {"k": 1}})],
}

# Each line: the operations of one JSON patch.
JSON_PATCHES = {
    "bad operation": [op("bad", "/data/k")],
    "no operation": [{"path": "/data/k"}],
    "null operation": [{"op": None, "path": "/data/k"}],
    "add": [op("add", "/data/n", "1")],
    "add without value": [op("add", "/data/n")],
    "add without path": [{"op": "add", "value": "1"}],
    "add map": [op("add", "/data", {"n": "1"})],
    "add to missing parent": [op("add", "/nope/n", "1")],
    "add below scalar": [op("add", "/data/k/n", "1")],
    "add root": [op("add", "", {})],
    "add without slash": [op("add", "x", "1")],
    "add at end": [op("add", "/metadata/finalizers/-", "q/r")],
    "add at index": [op("add", "/metadata/finalizers/1", "q/r")],
    "add behind last": [op("add", "/metadata/finalizers/2", "q/r")],
    "add past end": [op("add", "/metadata/finalizers/9", "q/r")],
    "add at last by negative": [op("add", "/metadata/finalizers/-1", "q/r")],
    "add before last by negative": [op("add", "/metadata/finalizers/-2", "q/r")],
    "add past start by negative": [op("add", "/metadata/finalizers/-9", "q/r")],
    "add at no index": [op("add", "/metadata/finalizers/x", "q/r")],
    "add escaped": [op("add", "/metadata/annotations", {}), op("add", "/metadata/annotations/a~1b", "1")],
    "replace": [op("replace", "/data/k", "1")],
    "replace missing key": [op("replace", "/data/n", "1")],
    "replace missing parent": [op("replace", "/nope/n", "1")],
    "replace item": [op("replace", "/metadata/finalizers/1", "q/r")],
    "replace item by negative": [op("replace", "/metadata/finalizers/-1", "q/r")],
    "replace missing item": [op("replace", "/metadata/finalizers/5", "q/r")],
    "replace root by scalar": [op("replace", "", 5)],
    "remove": [op("remove", "/data/k")],
    "remove map": [op("remove", "/data")],
    "remove missing key": [op("remove", "/data/n")],
    "remove missing parent": [op("remove", "/nope/n")],
    "remove item": [op("remove", "/metadata/finalizers/0")],
    "remove item by negative": [op("remove", "/metadata/finalizers/-1")],
    "remove missing item": [op("remove", "/metadata/finalizers/5")],
    "remove no index": [op("remove", "/metadata/finalizers/x")],
    "move": [op("move", "/data/n", **{"from": "/data/k"})],
    "move items": [op("move", "/metadata/finalizers/0", **{"from": "/metadata/finalizers/1"})],
    "move without from": [op("move", "/data/n")],
    "move missing": [op("move", "/data/n", **{"from": "/data/m"})],
    "move missing parent": [op("move", "/data/n", **{"from": "/nope/m"})],
    "move to missing parent": [op("move", "/nope/n", **{"from": "/data/k"})],
    "copy": [op("copy", "/data/n", **{"from": "/data/k"})],
    "copy missing key": [op("copy", "/data/n", **{"from": "/data/m"})],
    "copy missing parent": [op("copy", "/data/n", **{"from": "/nope/m"})],
    "copy missing item": [op("copy", "/data/n", **{"from": "/metadata/finalizers/7"})],
    "copy to missing parent": [op("copy", "/nope/n", **{"from": "/data/k"})],
    "test": [op("test", "/data/k", "v")],
    "test fails": [op("test", "/data/k", "w")],
    "test missing key": [op("test", "/data/n", "w")],
    "test missing key for null": [op("test", "/data/n", None)],
    "test missing parent": [op("test", "/nope/n", 1)],
    "test missing item": [op("test", "/metadata/finalizers/7", 1)],
    "test without value": [op("test", "/data/k")],
    "test map": [op("test", "/data", {"k": "v", "l": "w"})],
    "test list": [op("test", "/metadata/finalizers", ["x/a", "x/b"])],
    "test root fails": [op("test", "", {})],
    "test then change": [op("test", "/data/k", "v"), op("replace", "/data/k", "w"), op("test", "/data/k", "w")],
    "change then failed test": [op("replace", "/data/k", "w"), op("test", "/data/k", "v")],
    "unknown field": [op("add", "/data/n", "1", extra=1)],
    "path not text": [{"op": "add", "path": 5}],
    "op not text": [{"op": {}, "path": "/data/k"}],
    "from not text": [{"op": "move", "path": "/data/k", "from": ["x"]}],
    "operation not a map": [1],
    "operation a list": [[]],
    "empty": [],
}

PATCHED = {"metadata": {"finalizers": ["x/a", "x/b"]}, "data": {"k": "v", "l": "w"}}

POD = {"metadata": {"labels": {"app": "x"}}, "spec": {"containers": [CONTAINER]}}
SELECTOR = {"matchLabels": {"app": "x"}}
SUBJECT = {"kind": "User", "name": "u", "apiGroup": "rbac.authorization.k8s.io"}
WEBHOOK = {
    "name": "w.example.com", "sideEffects": "None", "admissionReviewVersions": ["v1"],
    "clientConfig": {"service": {"namespace": "n", "name": "s"}},
    "rules": [{"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["pods"]}],
}


def rbac(kind, **more):
    return {"roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": kind, "name": "r"}, "subjects": [SUBJECT], **more}


# More built-in kinds: version, resource, a body, a change by merge patch, a change by apply.
BUILT_IN = {
    "StatefulSet": ("apps/v1", "statefulsets", spec(serviceName="s", selector=SELECTOR, template=POD, volumeClaimTemplates=[{"metadata": {"name": "v"}, "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}}]), spec(replicas=2), spec(replicas=3)),
    "DaemonSet": ("apps/v1", "daemonsets", spec(selector=SELECTOR, template=POD), spec(minReadySeconds=2), spec(minReadySeconds=3)),
    "ReplicaSet": ("apps/v1", "replicasets", spec(selector=SELECTOR, template=POD), spec(replicas=2), spec(replicas=3)),
    "Job": ("batch/v1", "jobs", spec(manualSelector=True, selector=SELECTOR, template={**POD, "spec": {**POD["spec"], "restartPolicy": "Never"}}), spec(parallelism=2), spec(parallelism=3)),
    "CronJob": ("batch/v1", "cronjobs", spec(schedule="* * * * *", jobTemplate={"spec": {"template": {"spec": {**POD["spec"], "restartPolicy": "Never"}}}}), spec(suspend=True), spec(schedule="1 * * * *")),
    "Secret": ("v1", "secrets", {"stringData": {"k": "v"}, "data": {"b": "eHg="}}, {"data": {"b": None}}, {"data": {"c": "eA=="}}),
    "ServiceAccount": ("v1", "serviceaccounts", {"imagePullSecrets": [{"name": "s"}], "secrets": [{"name": "t"}]}, {"automountServiceAccountToken": False}, {"imagePullSecrets": [{"name": "s2"}]}),
    "PersistentVolumeClaim": ("v1", "persistentvolumeclaims", spec(accessModes=["ReadWriteOnce"], resources={"requests": {"storage": "1Gi"}}), {"metadata": {"labels": {"a": "b"}}}, {"metadata": {"labels": {"a": "c"}}}),
    "Endpoints": ("v1", "endpoints", {"subsets": [{"addresses": [{"ip": "10.1.1.1"}], "ports": [{"port": 80}]}]}, {"subsets": [{"addresses": [{"ip": "10.1.1.2"}], "ports": [{"port": 80}]}]}, {"metadata": {"labels": {"a": "b"}}}),
    "LimitRange": ("v1", "limitranges", spec(limits=[{"type": "Container", "default": {"cpu": "1"}}]), spec(limits=[]), {"metadata": {"labels": {"a": "b"}}}),
    "ResourceQuota": ("v1", "resourcequotas", spec(hard={"pods": "1"}), spec(hard={"pods": "2"}), spec(hard={"cpu": "3"})),
    "Event": ("v1", "events", {"involvedObject": {"kind": "Pod", "name": "p", "namespace": "merge-golden"}, "reason": "R", "message": "m", "type": "Normal", "source": {"component": "c"}, "count": 1, "firstTimestamp": "2020-01-01T00:00:00Z", "lastTimestamp": "2020-01-01T00:00:00Z"}, {"count": 2}, {"count": 3}),
    "PodTemplate": ("v1", "podtemplates", {"template": POD}, {"template": {"metadata": {"labels": {"b": "c"}}}}, {"template": {"metadata": {"labels": {"app": "z"}}}}),
    "ReplicationController": ("v1", "replicationcontrollers", spec(selector={"app": "x"}, template=POD), spec(replicas=2), spec(replicas=3)),
    "Role": ("rbac.authorization.k8s.io/v1", "roles", {"rules": [{"apiGroups": [""], "resources": ["pods"], "verbs": ["get"]}]}, {"rules": []}, {"rules": [{"apiGroups": [""], "resources": ["pods"], "verbs": ["list"]}]}),
    "RoleBinding": ("rbac.authorization.k8s.io/v1", "rolebindings", rbac("Role"), {"subjects": None}, rbac("Role")),
    "ClusterRole": ("rbac.authorization.k8s.io/v1", "clusterroles", {"rules": [{"apiGroups": [""], "resources": ["pods"], "verbs": ["get"]}]}, {"aggregationRule": {"clusterRoleSelectors": [SELECTOR]}}, {"metadata": {"labels": {"a": "b"}}}),
    "ClusterRoleBinding": ("rbac.authorization.k8s.io/v1", "clusterrolebindings", rbac("ClusterRole"), {"subjects": []}, rbac("ClusterRole")),
    "Ingress": ("networking.k8s.io/v1", "ingresses", spec(rules=[{"host": "h", "http": {"paths": [{"path": "/", "pathType": "Prefix", "backend": {"service": {"name": "s", "port": {"number": 80}}}}]}}], tls=[{"hosts": ["h"]}]), spec(ingressClassName="c"), spec(ingressClassName="d")),
    "IngressClass": ("networking.k8s.io/v1", "ingressclasses", spec(controller="c/d"), {"metadata": {"labels": {"a": "b"}}}, {"metadata": {"labels": {"a": "c"}}}),
    "NetworkPolicy": ("networking.k8s.io/v1", "networkpolicies", spec(podSelector=SELECTOR, ingress=[{"from": [{"podSelector": {}}], "ports": [{"port": 80}]}]), spec(egress=[{}]), spec(policyTypes=["Egress"])),
    "PodDisruptionBudget": ("policy/v1", "poddisruptionbudgets", spec(selector=SELECTOR, minAvailable=1), spec(minAvailable="50%"), spec(minAvailable=2)),
    "HorizontalPodAutoscaler": ("autoscaling/v2", "horizontalpodautoscalers", spec(scaleTargetRef={"apiVersion": "apps/v1", "kind": "Deployment", "name": "d"}, maxReplicas=3, metrics=[{"type": "Resource", "resource": {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": 50}}}]), spec(minReplicas=2), spec(maxReplicas=5)),
    "Lease": ("coordination.k8s.io/v1", "leases", spec(holderIdentity="h", leaseDurationSeconds=10, renewTime="2020-01-01T00:00:00.000000Z"), spec(renewTime="2020-01-01T00:00:01.000000Z"), spec(holderIdentity="i")),
    "EndpointSlice": ("discovery.k8s.io/v1", "endpointslices", {"addressType": "IPv4", "endpoints": [{"addresses": ["10.1.1.1"], "conditions": {"ready": True}}], "ports": [{"port": 80}]}, {"endpoints": []}, {"metadata": {"labels": {"a": "b"}}}),
    "StorageClass": ("storage.k8s.io/v1", "storageclasses", {"provisioner": "p/q", "parameters": {"a": "b"}}, {"allowVolumeExpansion": True}, {"allowVolumeExpansion": False}),
    "CSIDriver": ("storage.k8s.io/v1", "csidrivers", spec(attachRequired=False, tokenRequests=[{"audience": "a"}]), spec(requiresRepublish=True), spec(requiresRepublish=False)),
    "PersistentVolume": ("v1", "persistentvolumes", spec(capacity={"storage": "1Gi"}, accessModes=["ReadWriteOnce"], hostPath={"path": "/x"}), {"metadata": {"labels": {"a": "b"}}}, {"metadata": {"labels": {"a": "c"}}}),
    "Node": ("v1", "nodes", spec(podCIDR="10.0.0.0/24", podCIDRs=["10.0.0.0/24"], taints=[{"key": "k", "effect": "NoSchedule"}]), spec(unschedulable=True), spec(unschedulable=False)),
    "Namespace": ("v1", "namespaces", {"metadata": {"labels": {"x": "y"}}}, {"metadata": {"labels": {"a": "b"}}}, {"metadata": {"labels": {"a": "c"}}}),
    "PriorityClass": ("scheduling.k8s.io/v1", "priorityclasses", {"value": 5, "description": "d"}, {"description": "e"}, {"description": "f"}),
    "RuntimeClass": ("node.k8s.io/v1", "runtimeclasses", {"handler": "h", "scheduling": {"nodeSelector": {"a": "b"}, "tolerations": [{"key": "k", "operator": "Exists"}]}}, {"overhead": {"podFixed": {"cpu": "1"}}}, {"scheduling": {"nodeSelector": {"a": "c"}}}),
    "ValidatingWebhookConfiguration": ("admissionregistration.k8s.io/v1", "validatingwebhookconfigurations", {"webhooks": [WEBHOOK]}, {"webhooks": [{**WEBHOOK, "timeoutSeconds": 3}]}, {"webhooks": [{"name": "w.example.com", "timeoutSeconds": 5}]}),
    "MutatingWebhookConfiguration": ("admissionregistration.k8s.io/v1", "mutatingwebhookconfigurations", {"webhooks": [WEBHOOK]}, {"webhooks": [{**WEBHOOK, "timeoutSeconds": 3}]}, {"webhooks": [{"name": "w.example.com", "timeoutSeconds": 5}]}),
    "ControllerRevision": ("apps/v1", "controllerrevisions", {"revision": 1, "data": {"spec": {"a": {"b": 1}}}}, {"revision": 2}, {"revision": 3}),
}

CLUSTER_SCOPED = {
    "ClusterRole", "ClusterRoleBinding", "IngressClass", "StorageClass", "CSIDriver", "PersistentVolume", "Node", "Namespace",
    "PriorityClass", "RuntimeClass", "ValidatingWebhookConfiguration", "MutatingWebhookConfiguration",
}


def component(kind, api_version):
    group, _, version = api_version.rpartition("/")
    return f"io.k8s.api.{group.split('.')[0] or 'core'}.{version}.{kind}"


for kind, (api_version, resource, *_) in BUILT_IN.items():
    KINDS[kind] = {"apiVersion": api_version, "kind": kind, "resource": resource, "component": component(kind, api_version)}

# How many random scenarios of each sort; more than are kept here make a good test of changes.
SEEDS = int(os.environ.get("SEEDS", "10"))


class Dice:
    """Random but reproducible writes."""

    def __init__(self, seed):
        self.random = random.Random(seed)

    def some(self, choices, most=3):
        return self.random.sample(choices, self.random.randint(0, min(most, len(choices))))

    def text(self):
        return self.random.choice("xyz")

    def texts(self):
        return {key: self.text() for key in self.some("abcd")}

    def item(self, name):
        found = item(name)
        if self.random.random() < 0.6:
            found["value"] = self.text()
        if self.random.random() < 0.4:
            found["settings"] = self.texts()
        if self.random.random() < 0.4:
            found["subs"] = [{"id": n, "note": self.text()} for n in self.some([1, 2, 3])]
        return found

    def port(self, number):
        found = port(number)
        if self.random.random() < 0.4:
            found["protocol"] = self.random.choice(["TCP", "UDP"])
        if self.random.random() < 0.5:
            found["name"] = self.text()
        return found

    def widget(self):
        makers = {
            "title": self.text,
            "count": lambda: self.random.randint(0, 2),
            "labels": self.texts,
            "frozen": self.texts,
            "tags": lambda: self.some("abcde", 4),
            "numbers": lambda: self.some([1, 2, 10, 20], 4),
            "words": lambda: [self.text() for _ in range(self.random.randint(0, 3))],
            "items": lambda: [self.item(name) for name in self.some("abcd", 4)],
            "ports": lambda: [self.port(number) for number in self.some([80, 443, 53])],
            "structs": lambda: {key: {"x": self.text()} for key in self.some("ab")},
            "nested": lambda: {"a": {"b": {key: self.text() for key in self.some("cd")}}, "e": self.text()},
            "free": lambda: {key: self.random.choice([1, "t", [1, 2], {"q": 1}, {}, []]) for key in self.some("ab")},
            "sealed": lambda: {"p": self.text()},
        }
        fields = {name: makers[name]() for name in self.some(list(makers), 6)}
        labels = {"metadata": {"labels": self.texts()}} if self.random.random() < 0.3 else {}
        return {**labels, **spec(**fields)}

    def widget_step(self):
        manager = self.random.choice("abc")
        verb = self.random.choice([apply, apply, apply, force, merge, update])
        return verb(manager, self.widget())

    def container_patch(self):
        order = self.some(["a", "b", "c", "d"], 4)
        changed = [{"name": name, "image": self.text()} for name in order if self.random.random() < 0.6]
        for container in changed:
            if self.random.random() < 0.5:
                names = self.some("ABCD", 4)
                container["env"] = [{"name": name, "value": self.text()} for name in names]
                if self.random.random() < 0.4:
                    container["$setElementOrder/env"] = [{"name": name} for name in names]
            if self.random.random() < 0.3:
                container["ports"] = [{"containerPort": number, "name": self.text()} for number in self.some([80, 81], 1)]
            if self.random.random() < 0.3:
                container["args"] = self.some("xyz")
        patch = {"containers": changed}
        if self.random.random() < 0.5:
            patch["$setElementOrder/containers"] = [{"name": name} for name in order]
        if self.random.random() < 0.3:
            patch["nodeSelector"] = {**self.texts(), "a": None}
        if self.random.random() < 0.2:
            patch["containers"].append({"name": self.random.choice("ab"), "$patch": "delete"})
        if self.random.random() < 0.3:
            source = self.random.choice([{"emptyDir": {}}, {"hostPath": {"path": "/"}}])
            patch["volumes"] = [{"name": self.text(), **source}]
        return template(**patch)


def random_widgets(seed):
    dice = Dice(seed)
    return ("widget", f"random {seed}", [apply("a", dice.widget())] + [dice.widget_step() for _ in range(7)])


def random_deployments(seed):
    dice = Dice(seed)
    containers = [{"name": name, "image": "i", "env": [{"name": n, "value": "1"} for n in dice.some("ABCD")]} for name in "abc"]
    return ("deployment", f"random {seed}", [create("m", deployment(*containers))] + [strategic("n", dice.container_patch()) for _ in range(6)])


def table(kind, scenarios):
    return [(kind, name, steps) for name, steps in scenarios.items()]


GROUPS = {
    "widgets": table("widget", WIDGETS),
    "widget_errors": table("widget", WIDGET_ERRORS),
    "deployments": table("deployment", DEPLOYMENTS),
    "services": table("service", SERVICES),
    "pods": table("pod", PODS),
    "configmaps": table("configmap", CONFIGMAPS),
    "kinds": [
        (kind, "kind " + kind, [create("a", body), merge("b", change), apply("c", applied), force("c", applied), apply("d", body)])
        for kind, (_, _, body, change, applied) in BUILT_IN.items()
    ],
    "random": [random(seed) for random in (random_widgets, random_deployments) for seed in range(SEEDS)],
    "json_patches": [("configmap", name, [create("a", PATCHED), patch("b", *ops)]) for name, ops in JSON_PATCHES.items()],
}
