//! Manual pages, completions and the version.

use crate::support::gamewire;

const COMMANDS: [&str; 8] =
    ["dissect", "flows", "check", "record", "rules", "explain", "man", "completions"];

#[test]
fn the_version_contains_the_commit_if_known() {
    let run = gamewire(["--version"]);
    let said = run.out.trim().strip_prefix("gamewire ").expect("the name");
    let commit = said.strip_prefix(env!("CARGO_PKG_VERSION")).expect("the version");
    let commit = commit.strip_prefix(" (").map(|rest| rest.strip_suffix(')').expect("a commit"));
    assert!(commit.is_none_or(|commit| commit.bytes().all(|byte| byte.is_ascii_hexdigit())));
}

#[test]
fn every_command_has_a_page() {
    let main = gamewire(["man"]);
    assert_eq!((main.code, main.err.as_str()), (0, ""));
    for command in COMMANDS {
        assert!(main.out.contains(&format!("gamewire\\-{command}(1)")), "{command}");
        let page = gamewire(["man", command]);
        assert_eq!(page.code, 0, "{command}");
        assert!(page.out.contains(".TH gamewire-"));
        for section in ["SYNOPSIS", "\"EXIT STATUS\"", "FILES", "\"SEE ALSO\""] {
            assert!(page.out.contains(&format!(".SH {section}\n")), "{command}: {section}");
        }
    }
    let unknown = gamewire(["man", "what\u{1B}[2J"]);
    assert!(unknown.code == 2 && unknown.err.contains(r"what\x1B[2J"), "{}", unknown.err);
    let hidden = gamewire(["man", "docs"]);
    assert!(hidden.code == 2 && !hidden.err.contains("docs,"), "{}", hidden.err);
}

#[test]
fn shells_complete_the_commands() {
    for shell in ["bash", "zsh", "fish", "powershell", "elvish"] {
        let run = gamewire(["completions", shell]);
        assert_eq!(run.code, 0);
        assert!(COMMANDS.iter().all(|command| run.out.contains(command)), "{shell}");
    }
}
