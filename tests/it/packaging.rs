//! What names the files of a release by version and hash: the formula for Homebrew, the manifests for winget, and what
//! `cargo binstall` reads in Cargo.toml.
#![cfg(unix)]

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;

use serde_json::Value;

use crate::support::project::Project;
use crate::support::skip::skipped;

const VERSION: &str = "9.9.9";

fn file(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(name);
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// The targets for which the release has programs.
fn targets() -> BTreeSet<String> {
    let workflow = file(".github/workflows/release.yml");
    let programs = workflow.lines().filter_map(|line| line.split_once("programs: "));
    programs.flat_map(|(_, targets)| targets.split(' ')).map(str::to_owned).collect()
}

/// The archive of a target, as `.ci/archive` names it.
fn archive(target: &str) -> String {
    let ending = if target.contains("windows") { "zip" } else { "tar.gz" };
    format!("gamewire-{VERSION}-{target}.{ending}")
}

/// A folder with the archives of a release, after `.ci/packaging/fill`; and whether that succeeded.
fn filled(name: &str, without: &str) -> Option<(Project, bool, String)> {
    let project = Project::new(name);
    for target in targets().iter().filter(|target| *target != without) {
        project.write(&archive(target), target);
    }
    let fill = Path::new(env!("CARGO_MANIFEST_DIR")).join(".ci/packaging/fill");
    let Ok(run) = Command::new("bash").arg(fill).arg(VERSION).arg(project.path("")).output() else {
        skipped("bash", "bash is not installed");
        return None;
    };
    let said = String::from_utf8_lossy(&run.stderr).into_owned();
    Some((project, run.status.success(), said))
}

/// The hash that a line of a file names after `key`, for each line that names an archive.
fn named<'t>(text: &'t str, url: &str, hash: &str) -> Vec<(&'t str, &'t str)> {
    let of = |line: &'t str, key: &str| {
        Some(line.trim().strip_prefix(key)?.trim_matches(|c| c == '"' || c == ' '))
    };
    let urls = text.lines().filter_map(|line| of(line, url));
    let hashes = text.lines().filter_map(|line| of(line, hash));
    urls.zip(hashes).collect()
}

#[test]
fn the_formula_and_the_manifests_name_archives_of_the_release_by_their_hashes() {
    let Some((project, succeeded, said)) = filled("packaging", "") else { return };
    assert!(succeeded, "{said}");
    let sums = project.read("SHA256SUMS");
    let hash_of = |name: &str| {
        let lines = sums.lines().filter_map(|line| line.split_once("  "));
        lines.filter(|(_, of)| *of == name).map(|(hash, _)| hash).next()
    };
    let (formula, installer) =
        (project.read("gamewire.rb"), project.read("gamewire.gamewire.installer.yaml"));
    let formula = named(&formula, "url ", "sha256 ");
    let installer = named(&installer, "- InstallerUrl:", "InstallerSha256:")
        .into_iter()
        .chain(named(&installer, "InstallerUrl:", "InstallerSha256:"));
    let all: Vec<_> = formula.into_iter().chain(installer).collect();
    assert_eq!(all.len(), 5, "{all:?}");
    for (url, hash) in all {
        let name = url.rsplit('/').next().unwrap_or_default();
        let release =
            format!("https://github.com/gamewire/gamewire/releases/download/v{VERSION}/{name}");
        assert_eq!(url, release);
        assert_eq!(Some(hash), hash_of(name), "{name}");
    }
    for name in project.names() {
        assert!(name == "SHA256SUMS" || hash_of(&name).is_some(), "{name} has no hash");
    }
}

#[test]
fn the_manifests_are_complete() {
    let Some((project, ..)) = filled("manifests", "") else { return };
    for (name, kind) in [
        ("gamewire.gamewire.yaml", "version"),
        ("gamewire.gamewire.installer.yaml", "installer"),
        ("gamewire.gamewire.locale.en-US.yaml", "defaultLocale"),
    ] {
        let text = project.read(name);
        for line in ["PackageIdentifier: gamewire.gamewire", &format!("PackageVersion: {VERSION}")]
        {
            assert!(text.lines().any(|it| it == line), "{name} lacks {line}");
        }
        assert!(text.contains(&format!("\nManifestType: {kind}\nManifestVersion: ")), "{name}");
        for line in text.lines().filter(|line| !line.starts_with('#')) {
            let is_item = line.trim_start().starts_with("- ");
            assert!(is_item || line.contains(": ") || line.ends_with(':'), "{name}: {line}");
            assert!(!line.contains(['@', '\t', '\r']), "{name}: {line}");
        }
    }
    let formula = project.read("gamewire.rb");
    let opens = |line: &str| {
        line.ends_with(" do") || line.starts_with("def ") || line.starts_with("class ")
    };
    let lines: Vec<_> = formula.lines().map(str::trim).collect();
    let (open, ends) = (
        lines.iter().filter(|it| opens(it)).count(),
        lines.iter().filter(|it| **it == "end").count(),
    );
    assert!(open == ends && open > 6 && !formula.contains('@'), "{formula}");
}

#[test]
fn a_release_without_an_archive_is_not_completed() {
    for target in ["x86_64-pc-windows-msvc", "aarch64-apple-darwin"] {
        let Some((_, succeeded, said)) = filled(&format!("without-{target}"), target) else {
            return;
        };
        assert!(!succeeded && said.contains(&archive(target)), "{said}");
    }
}

#[test]
fn binstall_finds_the_archives() {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let described = Command::new(cargo)
        .args(["metadata", "--no-deps", "--format-version", "1"])
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .output()
        .expect("cargo is there");
    let described: Value = serde_json::from_slice(&described.stdout).expect("JSON");
    let packages = described["packages"].as_array().expect("packages");
    let package = packages.iter().find(|package| package["name"] == "gamewire").expect("gamewire");
    let package = &package["metadata"]["binstall"];
    for target in targets() {
        let of_target = package["overrides"].get(&target).unwrap_or(package);
        let value = |key: &str| of_target.get(key).or(package.get(key)).and_then(Value::as_str);
        let url = value("pkg-url").expect("an address").replace("{ repo }", "REPO");
        let url = url.replace("{ version }", VERSION).replace("{ target }", &target);
        assert_eq!(url, format!("REPO/releases/download/v{VERSION}/{}", archive(&target)));
        let kind = if target.contains("windows") { "zip" } else { "tgz" };
        assert_eq!(value("pkg-fmt"), Some(kind), "{target}");
    }
}

#[test]
fn the_page_of_platforms_has_each_target() {
    let page = file("docs/install.md");
    for target in targets() {
        assert!(page.contains(&format!("`{target}`")), "{target}");
    }
    assert!(file("Cargo.toml").contains("recommends = \"libpcap0.8\""));
}
