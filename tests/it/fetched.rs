//! Builds take the program of a release: the action and the recipe for GitLab, with releases in a folder.
#![cfg(unix)]

use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Output};

use crate::support::project::Project;
use crate::support::skip::skipped;
use captures::exchange::Setting;

const GOOD: &str = "0.00 c > s  FFFFFFFF 55 FFFFFFFF\n0.02 s > c  FFFFFFFF 41 4BA1D522";

/// A version that nobody has installed.
const VERSION: &str = "9.9.9";

/// Every system for which `.ci/fetch` may take this one.
const TARGETS: [&str; 6] = [
    "aarch64-apple-darwin",
    "aarch64-unknown-linux-gnu",
    "aarch64-unknown-linux-musl",
    "x86_64-apple-darwin",
    "x86_64-unknown-linux-gnu",
    "x86_64-unknown-linux-musl",
];

/// A project with a folder of releases in it.
struct Releases(Project);

impl Releases {
    /// `None` without the programs that fetching needs.
    fn new(name: &str) -> Option<Releases> {
        for (program, option) in
            [("bash", "--version"), ("curl", "--version"), ("tar", "--version")]
        {
            if Command::new(program).arg(option).output().is_err() {
                skipped(program, &format!("{program} is not installed"));
                return None;
            }
        }
        let releases = Releases(Project::new(name));
        releases.0.play("good.pcap", &Setting::udp(27015), GOOD);
        let real = env!("CARGO_BIN_EXE_gamewire");
        let stand_in = format!(
            "#!/bin/sh\nif [ \"$1\" = --version ]; then echo 'gamewire {VERSION}'; exit; fi\nexec '{real}' \"$@\"\n"
        );
        for target in TARGETS {
            let name = format!("gamewire-{VERSION}-{target}");
            releases.program(&format!("{name}/gamewire"), &stand_in);
            std::fs::create_dir_all(releases.0.path(&format!("releases/v{VERSION}")))
                .expect("a folder");
            releases.shell(&format!("tar -czf releases/v{VERSION}/{name}.tar.gz {name}"));
        }
        releases.shell(&format!("cd releases/v{VERSION} && sha256sum *.tar.gz > SHA256SUMS"));
        Some(releases)
    }

    fn program(&self, name: &str, text: &str) {
        let path = self.0.path(name);
        std::fs::create_dir_all(Path::new(&path).parent().expect("a folder")).expect("a folder");
        self.0.write(name, text);
        std::fs::set_permissions(path, PermissionsExt::from_mode(0o755)).expect("permissions");
    }

    /// Runs commands in the folder, with the releases at `GAMEWIRE_RELEASES`.
    fn run(&self, commands: &str, variables: &[(&str, &str)]) -> Output {
        let folder = self.0.path("");
        let path = std::env::var("PATH").unwrap_or_default();
        Command::new("bash")
            .args(["-euo", "pipefail", "-c", commands])
            .current_dir(&folder)
            // A cargo that builds nothing, but says what it was asked for.
            .env("PATH", format!("{}:{path}", self.0.path("bin")))
            .env("RUNNER_TEMP", folder.trim_end_matches('/'))
            .env("RUNNER_TOOL_CACHE", self.0.path("tools"))
            .env("GAMEWIRE_RELEASES", format!("file://{}", self.0.path("releases")))
            .env("CAPTURES", "good.pcap")
            .env_remove("GITHUB_OUTPUT")
            .envs(variables.iter().copied())
            .output()
            .expect("bash is there")
    }

    fn shell(&self, commands: &str) {
        let run = self.run(commands, &[]);
        assert!(run.status.success(), "{commands}: {}", String::from_utf8_lossy(&run.stderr));
    }

    /// Runs the action: its exit code, and what it says.
    fn act(&self, variables: &[(&str, &str)]) -> (Option<i32>, String) {
        self.act_only("", variables)
    }

    /// Runs one part of the action.
    fn act_only(&self, part: &str, variables: &[(&str, &str)]) -> (Option<i32>, String) {
        let action = Path::new(env!("CARGO_MANIFEST_DIR")).join(".ci/action");
        let run = self.run(&format!("'{}' {part}", action.display()), variables);
        let said = [run.stdout, run.stderr].concat();
        (run.status.code(), String::from_utf8_lossy(&said).into_owned())
    }

    /// The hash of the archive that the action has taken.
    fn taken(&self) -> String {
        let run = self.run(&format!("sha256sum tools/gamewire/{VERSION}/*.tar.gz"), &[]);
        let said = String::from_utf8_lossy(&run.stdout).into_owned();
        said.split(' ').next().unwrap_or_default().to_owned()
    }
}

/// Runners are new each time: `action.yml` keeps this folder in the cache.
#[test]
fn the_action_says_what_is_to_be_kept_before_it_fetches_anything() {
    let Some(releases) = Releases::new("kept") else { return };
    let (code, said) = releases.act_only("release", &[("VERSION", VERSION)]);
    let folder = releases.0.path(&format!("tools/gamewire/{VERSION}"));
    assert_eq!((code, said), (Some(0), format!("version={VERSION}\nfolder={folder}\n")));
    assert!(!Path::new(&folder).exists());
    releases.act(&[("VERSION", VERSION)]);
    assert!(Path::new(&folder).join("gamewire").exists());
    // What is installed needs no cache.
    releases.shell(&format!("mkdir -p bin && cp '{folder}/gamewire' bin/"));
    let (code, said) = releases.act_only("release", &[("VERSION", VERSION)]);
    assert_eq!((code, said.as_str()), (Some(0), ""));
}

#[test]
fn the_action_takes_the_release_and_keeps_it() {
    let Some(releases) = Releases::new("fetched") else { return };
    let (code, said) = releases.act(&[("VERSION", VERSION)]);
    assert!(code == Some(0) && said.contains(&format!("using gamewire {VERSION}")), "{said}");
    let hash = releases.taken();
    assert_eq!(hash.len(), 64, "{hash}");

    // The archive is gone, and then all of the release: what was taken is still there, if its hash is known.
    releases.shell(&format!("rm releases/v{VERSION}/*.tar.gz"));
    let (code, said) = releases.act(&[("VERSION", VERSION)]);
    assert_eq!(code, Some(0), "{said}");
    releases.shell("rm -r releases");
    let (code, said) = releases.act(&[("VERSION", VERSION), ("SHA256", &hash)]);
    assert_eq!(code, Some(0), "{said}");
}

#[test]
fn an_archive_with_another_hash_is_refused() {
    let Some(releases) = Releases::new("refused") else { return };
    let wrong = "0".repeat(64);
    let (code, said) = releases.act(&[("VERSION", VERSION), ("SHA256", &wrong)]);
    assert!(code == Some(2) && said.contains("is refused: its SHA-256 is"), "{said}");
    assert!(!said.contains("building"), "{said}");

    releases.shell(&format!("for f in releases/v{VERSION}/*.tar.gz; do echo more >> $f; done"));
    let (code, said) = releases.act(&[("VERSION", VERSION)]);
    assert!(code == Some(2) && said.contains("is refused: its SHA-256 is"), "{said}");
    let (_, said) = releases.act(&[("VERSION", VERSION)]);
    assert!(said.contains("is refused"), "what was refused is not kept: {said}");
}

#[test]
fn without_a_release_the_action_builds() {
    let Some(releases) = Releases::new("building") else { return };
    let real = env!("CARGO_BIN_EXE_gamewire");
    let cargo = format!("#!/bin/sh\necho \"cargo $*\"\nln -s '{real}' bin/gamewire\n");
    releases.program("bin/cargo", &cargo);
    let (code, said) = releases.act(&[("VERSION", "9.9.8")]);
    assert!(
        said.contains("cargo install --locked --git") && said.contains("--tag v9.9.8"),
        "{said}"
    );
    assert_eq!(code, Some(0), "{said}");

    releases.shell("rm bin/gamewire");
    let wrong = "0".repeat(64);
    let (code, said) = releases.act(&[("VERSION", "9.9.8"), ("SHA256", &wrong)]);
    assert!(code == Some(2) && !said.contains("cargo install"), "{said}");
}

/// The steps of the recipe that get gamewire, from the page.
fn recipe() -> String {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/ci.md");
    let page = std::fs::read_to_string(page).expect("the page is there");
    let steps = page.split("before_script:\n").nth(1).expect("the recipe's steps");
    let steps = steps.lines().map_while(|line| line.strip_prefix("    - "));
    let steps: Vec<_> = steps.filter(|step| !step.starts_with("apt-get")).collect();
    assert!(steps.len() >= 4, "{steps:?}");
    steps.join("\n")
}

#[test]
fn the_recipe_for_gitlab_takes_the_release_by_its_hash() {
    let Some(releases) = Releases::new("recipe") else { return };
    let name = format!("gamewire-{VERSION}-x86_64-unknown-linux-gnu");
    let release = format!("file://{}", releases.0.path(&format!("releases/v{VERSION}")));
    let sums = releases.0.read(&format!("releases/v{VERSION}/SHA256SUMS"));
    let hash =
        sums.lines().find(|line| line.contains(&name)).and_then(|line| line.split(' ').next());
    let commands = format!("{}\ngamewire --version\ngamewire check -q good.pcap", recipe());
    let run = |hash: &str| {
        let variables = [("GAMEWIRE", &*name), ("RELEASE", &*release), ("GAMEWIRE_SHA256", hash)];
        let run = releases.run(&commands, &variables);
        (run.status.success(), String::from_utf8_lossy(&run.stdout).into_owned())
    };
    let (passed, said) = run(hash.expect("its hash"));
    assert!(passed && said.contains(&format!("gamewire {VERSION}")), "{said}");
    releases.shell("rm -r releases");
    assert!(run(hash.expect("its hash")).0, "the cached archive");
    assert!(!run(&"0".repeat(64)).0, "another hash");
}
