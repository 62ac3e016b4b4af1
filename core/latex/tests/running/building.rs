//! What a build brings: pages, what it read, what it says while it runs.

use std::path::Path;

use latex::{Engine, Outcome, Progress};

use crate::desk::{Desk, has_tex};

const DOC: &str = "\\documentclass{article}\\begin{document}\n";

#[test]
fn the_sample_paper_is_built() {
    if !has_tex(Engine::PdfLatex) {
        return;
    }
    let sample = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../assets/sample-paper");
    let desk = Desk::copy_of(&sample);
    let before = desk.names();
    let mut told = Vec::new();
    let built =
        desk.build_with(&latex::Cancel::new(), &mut |progress| told.push(progress)).unwrap();
    assert_eq!(built.outcome, Outcome::Done, "{built:#?}");
    let pages = built.pages.as_ref().unwrap();
    assert!(!pages.earlier && pages.synctex.is_some() && pages.pdf.starts_with(&desk.output));
    for file in ["main.tex", "references.bib", "sections/model.tex", "figures/tracks.png"] {
        assert!(built.sources.contains(file), "{file}: {:?}", built.sources);
    }
    assert_eq!(built.missing, [""; 0]);
    assert_eq!(desk.names(), before);
    assert!(
        built.cpu.as_millis() > 0
            && built.sandboxed == matches!(desk.sandbox, latex::Sandbox::Bubblewrap(_))
    );
    let rules: Vec<String> = told
        .iter()
        .filter_map(|progress| match progress {
            Progress::Rule { name, run } => Some(format!("{name} {run}")),
            Progress::Page { .. } => None,
        })
        .collect();
    assert_eq!(rules[..3], ["pdflatex 1", "bibtex 1", "pdflatex 2"], "{rules:?}");
    assert_eq!(told.last(), Some(&Progress::Page { number: 4 }));
    assert_eq!(built.ran.len(), rules.len());
    assert!(built.ran.iter().all(|ran| ran.code == Some(0)), "{:?}", built.ran);
    // Nothing changed: nothing runs, and the pages stay.
    let again = desk.built();
    assert_eq!(again.ran, []);
    assert!(!again.pages.unwrap().earlier);
}

#[test]
fn each_engine_builds() {
    for engine in [Engine::PdfLatex, Engine::XeLatex, Engine::LuaLatex] {
        if !has_tex(engine) {
            continue;
        }
        let fonts = if engine == Engine::PdfLatex { "" } else { "\\usepackage{fontspec}" };
        let mut desk = Desk::of(
            &DOC.replace("\\begin", &format!("{fonts}\\begin"))
                .replace('\n', "\nmade here\\end{document}"),
        );
        desk.engine = engine;
        let built = desk.built();
        let pages = built.pages.unwrap();
        assert!(pages.synctex.is_some(), "{engine:?}");
        if let Some(text) = crate::desk::text_of(&pages.pdf) {
            assert!(text.contains("made here"), "{text}");
        }
    }
}
