//! Health and metrics.

use crate::case::Area;

pub(super) fn cases(area: &mut Area) {
    area.case("plain", |c| {
        for path in ["/healthz", "/livez", "/readyz"] {
            c.get(path);
        }
    });
    area.case("one check", |c| {
        c.get("/livez/ping");
        c.get("/readyz/ping");
        c.get("/healthz/ping");
        c.get("/livez/nothing");
    });
    area.case("verbose", |c| {
        c.get("/livez?verbose").head_only();
        c.get("/readyz?verbose&exclude=ping").head_only();
        c.get("/livez?exclude=nothing").head_only();
    });
    area.case("other methods", |c| {
        c.send("HEAD", "/livez", crate::case::Body::None).head_only();
        c.send("POST", "/livez", crate::case::Body::None).head_only();
    });
    area.case("metrics", |c| {
        c.get("/metrics").head_only();
    });
}
