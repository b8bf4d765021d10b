//! What an image's name says.

/// The name of a program and its version, of an image such as `registry.k8s.io/kube-apiserver:v1.34.4`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Image<'a> {
    /// The last part of the path.
    pub(crate) program: &'a str,
    /// The tag, or nothing.
    pub(crate) version: &'a str,
}

impl<'a> Image<'a> {
    pub(crate) fn parse(image: &'a str) -> Self {
        let last = image.rsplit('/').next().unwrap_or(image);
        let tagged = last.split('@').next().unwrap_or(last);
        let (program, version) = tagged.split_once(':').unwrap_or((tagged, ""));
        Self { program, version }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn registries_tags_and_digests_are_told_apart() {
        for (image, program, version) in [
            ("kube-apiserver", "kube-apiserver", ""),
            ("registry.k8s.io/kube-apiserver:v1.34.4", "kube-apiserver", "v1.34.4"),
            ("localhost:5000/a/etcd:3.6.4-0@sha256:abc", "etcd", "3.6.4-0"),
            ("localhost:5000/etcd", "etcd", ""),
            ("x@sha256:abc", "x", ""),
        ] {
            assert_eq!(Image::parse(image), Image { program, version }, "{image}");
        }
    }
}
