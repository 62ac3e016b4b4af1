//! What a window may and may not do, read from the files that say so.

#![expect(clippy::disallowed_methods, reason = "the files that are shipped are what is tested")]
#![expect(clippy::unwrap_used, reason = "tests")]

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

fn here(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(path)
}

fn json(path: &Path) -> Value {
    serde_json::from_slice(&fs::read(path).unwrap()).unwrap()
}

fn capabilities() -> Vec<Value> {
    let folder = fs::read_dir(here("capabilities")).unwrap();
    folder.map(|entry| json(&entry.unwrap().path())).collect()
}

fn permissions(capability: &Value) -> Vec<&str> {
    capability["permissions"].as_array().unwrap().iter().map(|it| it.as_str().unwrap()).collect()
}

/// The commands by their names, as `build.rs` allows them to be given to windows.
fn commands() -> BTreeSet<String> {
    let build = fs::read_to_string(here("build.rs")).unwrap();
    let list = build.split_once("COMMANDS: &[&str] = &[").unwrap().1.split_once(']').unwrap().0;
    list.split('"').skip(1).step_by(2).map(str::to_owned).collect()
}

#[test]
fn every_command_is_known_handled_and_given_to_some_window() {
    let commands = commands();
    assert_eq!(commands.len(), 20);
    let main = fs::read_to_string(here("src/main.rs")).unwrap();
    let handler = main.split_once("generate_handler![").unwrap().1.split_once(']').unwrap().0;
    let handled: BTreeSet<String> = handler
        .split(',')
        .filter_map(|line| line.trim().strip_prefix("commands::"))
        .map(str::to_owned)
        .collect();
    assert_eq!(commands, handled);
    let given: BTreeSet<String> = capabilities()
        .iter()
        .flat_map(permissions)
        .filter_map(|permission| permission.strip_prefix("allow-"))
        .map(|command| command.replace('-', "_"))
        .collect();
    assert_eq!(commands, given);
}

#[test]
fn windows_have_commands_of_ours_and_listen_to_events_and_nothing_else() {
    for capability in capabilities() {
        for permission in permissions(&capability) {
            assert!(
                permission.starts_with("allow-") || permission == "core:event:default",
                "{permission} reaches beyond the open paper"
            );
        }
        assert!(capability.get("remote").is_none(), "no other origin may call a command");
    }
}

#[test]
fn the_start_window_never_reaches_a_paper() {
    let start = json(&here("capabilities/start.json"));
    for command in ["allow-subscribe", "allow-open-editor", "allow-edit", "allow-share"] {
        assert!(!permissions(&start).contains(&command), "{command}");
    }
}

#[test]
fn the_page_is_locked_to_what_is_in_the_program() {
    let settings = json(&here("tauri.conf.json"));
    assert_eq!(settings["app"]["withGlobalTauri"], false);
    let security = &settings["app"]["security"];
    assert_eq!(security["freezePrototype"], true);
    assert!(security.get("assetProtocol").is_none());
    let policy = security["csp"].as_object().unwrap();
    for (directive, sources) in policy {
        let sources = sources.as_str().unwrap();
        assert!(!sources.contains('*') && !sources.contains("unsafe-eval"), "{directive}");
        let remote = sources
            .split(' ')
            .any(|source| source.contains("://") && source != "http://ipc.localhost");
        assert!(!remote, "{directive} {sources}");
        let inline = sources.contains("'unsafe-inline'");
        // CodeMirror writes its styles into the page.
        assert!(!inline || directive == "style-src", "{directive}");
    }
    assert_eq!(policy["default-src"], "'self'");
    assert_eq!(policy["script-src"], "'self'");
    for closed in ["object-src", "base-uri", "frame-src", "frame-ancestors", "form-action"] {
        assert_eq!(policy[closed], "'none'", "{closed}");
    }
    // Without these Tauri falls back, unasked, to a slower way.
    assert!(policy["connect-src"].as_str().unwrap().contains("ipc: http://ipc.localhost"));
}

#[test]
fn what_others_wrote_is_never_taken_for_markup() {
    let mut seen = 0;
    let mut folders = vec![here("../ui/src")];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let entry = entry.unwrap();
            if entry.file_type().unwrap().is_dir() {
                folders.push(entry.path());
                continue;
            }
            let Ok(text) = fs::read_to_string(entry.path()) else { continue };
            seen += 1;
            for door in ["innerHTML", "outerHTML", "insertAdjacentHTML", "dangerouslySetInnerHTML"]
            {
                assert!(!text.contains(door), "{} uses {door}", entry.path().display());
            }
        }
    }
    assert!(seen > 0, "the page's sources are not where this test looks");
}
