//! What leads from nothing to a first cluster. Pure.

const QUICKSTART: &str = "`kubectl apply -f examples/quickstart.yaml`, in Butler's sources,";

/// What to do next where there is no cluster: `teams` is how many there are to choose from.
pub fn first_step(teams: usize, named: Option<&str>, has_infrastructure: bool) -> String {
    match (teams, has_infrastructure) {
        (0, _) => format!("There is no cluster yet, and no team that could have one; {QUICKSTART} makes both."),
        (_, false) => format!(
            "There is no cluster yet, and no ProviderConfig that says where to make one; {QUICKSTART} makes one for this \
             machine, with a team and a cluster."
        ),
        (1, true) if named.is_none() => {
            "There is no cluster yet; `butlerctl cluster create NAME` asks for one.".to_owned()
        }
        (_, true) => {
            let team = named.unwrap_or("TEAM");
            format!("There is no cluster yet; `butlerctl cluster create NAME -n {team}` asks for one.")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_next_step_is_one_that_works() {
        for (teams, named, has_infrastructure, quickstart, command) in [
            (0, None, false, true, ""),
            (0, None, true, true, ""),
            (1, None, false, true, ""),
            (1, None, true, false, "`butlerctl cluster create NAME`"),
            (2, None, true, false, "`butlerctl cluster create NAME -n TEAM`"),
            (1, Some("team-b"), true, false, "`butlerctl cluster create NAME -n team-b`"),
        ] {
            let told = first_step(teams, named, has_infrastructure);
            assert_eq!(told.contains("examples/quickstart.yaml"), quickstart, "{told}");
            assert!(told.contains(command), "{told}");
            assert_eq!(told.contains("butlerctl"), !command.is_empty(), "{told}");
        }
    }
}
