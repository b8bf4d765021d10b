//! What leads from nothing to a first cluster. Pure.

const QUICKSTART: &str = "`kubectl apply -f examples/quickstart.yaml`, in Butler's sources,";

/// What to do next where there is no cluster: `teams` is how many there are to choose from.
pub fn first_step(teams: usize, has_infrastructure: bool) -> String {
    match (teams, has_infrastructure) {
        (0, _) => format!("There is no cluster yet, and no team that could have one; {QUICKSTART} makes both."),
        (_, false) => format!(
            "There is no cluster yet, and no ProviderConfig that says where to make one; {QUICKSTART} makes one for this \
             machine, with a team and a cluster."
        ),
        (1, true) => "There is no cluster yet; `butlerctl cluster create NAME` asks for one.".to_owned(),
        (_, true) => "There is no cluster yet; `butlerctl cluster create NAME -n TEAM` asks for one.".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_next_step_is_one_that_works() {
        for (teams, has_infrastructure, quickstart, command) in [
            (0, false, true, false),
            (0, true, true, false),
            (1, false, true, false),
            (1, true, false, true),
            (2, true, false, true),
        ] {
            let told = first_step(teams, has_infrastructure);
            assert_eq!(told.contains("examples/quickstart.yaml"), quickstart, "{told}");
            assert_eq!(told.contains("butlerctl cluster create NAME"), command, "{told}");
            assert_eq!(told.contains("-n TEAM"), command && teams > 1, "{told}");
        }
    }
}
