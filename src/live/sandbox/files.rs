//! Access to files, with Landlock: Linux has it from 5.13 on.

use landlock::{
    ABI, Access, AccessFs, AccessNet, BitFlags, PathBeneath, Ruleset, RulesetAttr,
    RulesetCreatedAttr, RulesetError, RulesetStatus, Scope,
};

use crate::live::outputs::OutputPlace;

/// The newest version whose restrictions are asked for. Older systems support fewer of them: all
/// support those for files; those for TCP came with 6.7, those for signals and abstract sockets with
/// 6.12.
const VERSION: ABI = ABI::V6;

/// Allows only to make, write and remove files in these places; nothing may be read. Returns whether
/// the system enforces it.
pub(super) fn restrict_files(outputs: &[&OutputPlace]) -> bool {
    let confined = ruleset(outputs).and_then(|rules| rules.restrict_self());
    confined.is_ok_and(|status| status.ruleset != RulesetStatus::NotEnforced)
}

fn ruleset(outputs: &[&OutputPlace]) -> Result<landlock::RulesetCreated, RulesetError> {
    let mut rules = Ruleset::default()
        .handle_access(AccessFs::from_all(VERSION))?
        .handle_access(AccessNet::from_all(VERSION))?
        .scope(Scope::from_all(VERSION))?
        .create()?;
    for output in outputs {
        let added = (&mut rules).add_rule(PathBeneath::new(output, rights(output))).map(drop);
        // A pipe without a name is outside of all file systems: it needs no rule, and can have none.
        if output.is_folder() {
            added?;
        }
    }
    Ok(rules)
}

fn rights(output: &OutputPlace) -> BitFlags<AccessFs> {
    let write = AccessFs::WriteFile | AccessFs::Truncate;
    match output.is_folder() {
        true => write | AccessFs::MakeReg | AccessFs::RemoveFile,
        false => write,
    }
}
