//! A hostile paper: each way out that is known, with each engine.
//!
//! Each probe is run four times: carelessly, to show that it does reach what it aims at; in the
//! sandbox; in the sandbox with everything allowed that TeX itself would forbid, to show that the
//! sandbox alone holds; and without a sandbox and without trust, which is refused.

use std::net::TcpListener;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use latex::{Cannot, Engine, Failure, Limit, Limits, Outcome, Program, Sandbox, Trust};

use crate::desk::{Desk, has_sandbox, has_tex, sandbox, tools};

/// What is in the file that no paper has any business with; it says so itself if TeX runs it.
const CANARY: &str = "canary-in-a-coal-mine-2718";

/// How a probe is known to have got out.
enum Sign {
    /// The canary's text is in what was built.
    Canary,
    /// So is this text.
    Text(&'static str),
    /// Something was written outside.
    Written,
    /// Somebody knocked at the door.
    Connected,
}

struct Probe {
    name: &'static str,
    sign: Sign,
    /// In the document's body; `OUTSIDE` is a folder that is not the paper's, `PORT` a door.
    body: &'static str,
    /// Other files of the paper.
    files: &'static [(&'static str, &'static str)],
}

const READ: &str = r"\newread\r \openin\r=FILE \ifeof\r\else \read\r to\line \typeout{\meaning\line}\fi \closein\r";

const LUA_ONLY: &str = "lua";

const PROBES: [Probe; 15] = [
    Probe {
        name: "openin of a file beside the paper",
        sign: Sign::Canary,
        body: "READ(../secret/canary.tex)",
        files: &[],
    },
    Probe {
        name: "openin of a file by its whole path",
        sign: Sign::Canary,
        body: "READ(OUTSIDE/canary.tex)",
        files: &[],
    },
    Probe {
        name: "openin of the system's accounts",
        sign: Sign::Text("root:x:0:0"),
        body: "READ(/etc/passwd)",
        files: &[],
    },
    Probe {
        name: "openin by a link in the paper",
        sign: Sign::Canary,
        body: "READ(link.tex)",
        files: &[],
    },
    Probe {
        name: "input by a link in the paper",
        sign: Sign::Canary,
        body: r"\input{link}",
        files: &[],
    },
    Probe {
        name: "input of a file beside the paper",
        sign: Sign::Canary,
        body: r"\input{../secret/canary}",
        files: &[],
    },
    Probe {
        name: "openout beside the paper",
        sign: Sign::Written,
        body: r"\immediate\openout3=../secret/written \immediate\write3{x}",
        files: &[],
    },
    Probe {
        name: "openout by a whole path",
        sign: Sign::Written,
        body: r"\immediate\openout3=OUTSIDE/written \immediate\write3{x}",
        files: &[],
    },
    Probe {
        name: "write18",
        sign: Sign::Written,
        body: r"SHELL(touch OUTSIDE/written)",
        files: &[],
    },
    Probe {
        name: "input of what a command prints",
        sign: Sign::Canary,
        body: "\\input{|\"cat OUTSIDE/canary.tex\"}",
        files: &[],
    },
    Probe {
        name: "the paper's latexmkrc",
        sign: Sign::Written,
        body: "x",
        files: &[
            ("latexmkrc", "system('touch OUTSIDE/written');"),
            (".latexmkrc", "system('touch OUTSIDE/written');"),
            ("LatexMk", "system('touch OUTSIDE/written');"),
        ],
    },
    Probe {
        name: "the paper's texmf.cnf",
        sign: Sign::Written,
        body: "SHELL(touch OUTSIDE/written)",
        files: &[("texmf.cnf", "shell_escape = t\nopenout_any = a\n")],
    },
    Probe {
        name: "Lua reads",
        sign: Sign::Canary,
        body: "\\directlua{local f = io.open('OUTSIDE/canary.tex') if f then texio.write_nl(f:read('*a')) end}",
        files: &[(LUA_ONLY, "")],
    },
    Probe {
        name: "Lua writes",
        sign: Sign::Written,
        body: "\\directlua{local f = io.open('OUTSIDE/written', 'w') if f then f:write('x') f:close() end os.execute('touch OUTSIDE/written')}",
        files: &[(LUA_ONLY, "")],
    },
    Probe {
        name: "a connection",
        sign: Sign::Connected,
        body: "SHELL(bash -c 'echo x >/dev/tcp/127.0.0.1/PORT')LUA(local s = require('socket') s.connect('127.0.0.1', PORT))",
        files: &[],
    },
];

impl Probe {
    /// Writes the paper, and what lies beside it.
    fn desk(&self, engine: Engine, port: u16) -> Desk {
        let mut desk = Desk::new();
        desk.engine = engine;
        desk.sandbox = sandbox().clone();
        desk.trust = Trust::NotGiven;
        desk.write("secret/canary.tex", format!("\\typeout{{{CANARY}}}\n"));
        let outside = desk.path("secret").to_str().unwrap().to_owned();
        let fill = |text: &str| {
            let text = text.replace("OUTSIDE", &outside).replace("PORT", &port.to_string());
            let text = call(&text, "READ", &|file| READ.replace("FILE", file));
            let text = call(&text, "LUA", &|code| {
                if engine == Engine::LuaLatex {
                    format!("\\directlua{{{code}}}")
                } else {
                    String::new()
                }
            });
            call(&text, "SHELL", &|command| {
                if engine == Engine::LuaLatex {
                    let command = command.replace('\'', "\\string\\'");
                    format!("\\directlua{{os.execute(\"{command}\")}}")
                } else {
                    format!("\\immediate\\write18{{{command}}}")
                }
            })
        };
        let body = fill(self.body);
        desk.write(
            "paper/main.tex",
            format!("\\documentclass{{article}}\\begin{{document}}\n{body}\nx\\end{{document}}\n"),
        );
        for (name, text) in self.files.iter().filter(|(name, _)| *name != LUA_ONLY) {
            desk.write(&format!("paper/{name}"), fill(text));
        }
        std::os::unix::fs::symlink("../secret/canary.tex", desk.path("paper/link.tex")).unwrap();
        desk
    }

    fn got_out(&self, desk: &Desk, listener: &TcpListener) -> bool {
        match self.sign {
            Sign::Canary => holds(&desk.path("out"), CANARY),
            Sign::Text(text) => holds(&desk.path("out"), text),
            Sign::Written => std::fs::read_dir(desk.path("secret")).unwrap().count() > 1,
            // All who knocked, so that none is left for the next.
            Sign::Connected => std::iter::from_fn(|| listener.accept().ok()).count() > 0,
        }
    }
}

/// Puts what `make` makes of the text in brackets in the place of each `NAME(text)`.
fn call(text: &str, name: &str, make: &dyn Fn(&str) -> String) -> String {
    let Some((before, rest)) = text.split_once(&format!("{name}(")) else { return text.to_owned() };
    let mut depth = 1;
    let end = rest.find(|char| {
        depth += i32::from(char == '(') - i32::from(char == ')');
        depth == 0
    });
    let (inside, after) = rest.split_at(end.unwrap());
    format!("{before}{}{}", make(inside), call(&after[1..], name, make))
}

/// Returns whether a file below a folder holds a text. Links are not followed.
fn holds(folder: &Path, text: &str) -> bool {
    let Ok(entries) = std::fs::read_dir(folder) else { return false };
    entries.flatten().any(|entry| {
        let kind = entry.file_type().unwrap();
        if kind.is_dir() {
            holds(&entry.path(), text)
        } else {
            let bytes =
                if kind.is_file() { std::fs::read(entry.path()).unwrap() } else { Vec::new() };
            bytes.windows(text.len()).any(|window| window == text.as_bytes())
        }
    })
}

/// Builds as somebody would who thinks no evil.
fn build_carelessly(desk: &Desk) {
    let mode = match desk.engine {
        Engine::XeLatex => "-pdfxe",
        Engine::LuaLatex => "-pdflua",
        _ => "-pdf",
    };
    let own_texmf = desk.path("paper/texmf.cnf").exists();
    let mut command = Command::new(tools().path(Program::Latexmk).unwrap());
    command.args([mode, "-interaction=nonstopmode", "-outdir=../out", "main.tex"]);
    if own_texmf {
        // The file itself is to do it.
        command.env("TEXMFCNF", ".:");
    } else {
        command.arg("-latexoption=-shell-escape").env("openin_any", "a").env("openout_any", "a");
    }
    command.current_dir(desk.paper()).stdin(Stdio::null()).stdout(Stdio::null());
    command.stderr(Stdio::null()).status().unwrap();
}

fn probe(engine: Engine) {
    if !has_tex(engine) || !has_sandbox() {
        return;
    }
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    listener.set_nonblocking(true).unwrap();
    let port = listener.local_addr().unwrap().port();
    let mut wrong = Vec::new();
    for probe in &PROBES {
        if probe.files.contains(&(LUA_ONLY, "")) && engine != Engine::LuaLatex {
            continue;
        }
        let mut check = |how: &str, desk: &Desk, expected: bool| {
            if probe.got_out(desk, &listener) != expected {
                wrong.push(format!("{}, {how}: expected {expected}", probe.name));
            }
        };
        let desk = probe.desk(engine, port);
        build_carelessly(&desk);
        check("careless", &desk, true);

        let desk = probe.desk(engine, port);
        let built = desk.build().unwrap();
        check("in the sandbox", &desk, false);
        assert!(built.sandboxed);
        let brought: Vec<&str> =
            probe.files.iter().map(|(name, _)| *name).filter(|name| *name != LUA_ONLY).collect();
        assert_eq!(built.not_run.len(), brought.len(), "{:?}", built.not_run);

        let mut desk = probe.desk(engine, port);
        desk.shell_escape = true;
        assert!(matches!(desk.build(), Err(Cannot::NeedsTrust { .. })));
        desk.trust = Trust::Given;
        desk.build().unwrap();
        check("in the sandbox with all allowed", &desk, false);

        let mut desk = probe.desk(engine, port);
        desk.sandbox = Sandbox::None { reason: "none for this test".to_owned() };
        let refused = desk.build();
        assert!(matches!(refused, Err(Cannot::NeedsTrust { .. })), "{refused:?}");
        check("without trust", &desk, false);
        assert!(!desk.output.exists());
    }
    assert!(wrong.is_empty(), "{}: {wrong:#?}", engine.name());
}

#[test]
fn nothing_gets_out_of_pdflatex() {
    probe(Engine::PdfLatex);
}

#[test]
fn nothing_gets_out_of_xelatex() {
    probe(Engine::XeLatex);
}

#[test]
fn nothing_gets_out_of_lualatex() {
    probe(Engine::LuaLatex);
}

fn document(body: &str) -> String {
    format!("\\documentclass{{article}}\\begin{{document}}\n{body}\n\\end{{document}}\n")
}

/// A build of this body is ended by a limit, with each engine, and leaves nothing running.
fn check_limit(body: &str, limits: &Limits, expected: &[Failure]) {
    for engine in [Engine::PdfLatex, Engine::XeLatex, Engine::LuaLatex] {
        if !has_tex(engine) || !has_sandbox() {
            return;
        }
        let mut desk = Desk::of(&document(body));
        desk.engine = engine;
        desk.shell_escape = true;
        desk.trust = Trust::Given;
        desk.limits = limits.clone();
        let built = desk.build().unwrap();
        let Outcome::Failed(failure) = &built.outcome else { panic!("{engine:?}: {built:#?}") };
        assert!(expected.contains(failure), "{engine:?}: {failure}");
        assert_eq!(processes_about(&desk.paper()), 0);
    }
}

/// Returns how many processes have a path in their arguments.
fn processes_about(path: &Path) -> usize {
    let path = path.to_str().unwrap();
    let entries = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    let lines = entries.filter_map(|entry| std::fs::read(entry.path().join("cmdline")).ok());
    lines.filter(|line| String::from_utf8_lossy(line).contains(path)).count()
}

#[test]
fn a_paper_without_end_is_ended() {
    let limits = Limits { wall: Duration::from_secs(4), ..Limits::default() };
    check_limit(r"\def\x{\x}\x", &limits, &[Failure::Over(Limit::Wall)]);
    let limits = Limits { cpu: Duration::from_secs(2), ..Limits::default() };
    // The system ends a process that is over, if it comes before us.
    check_limit(r"\def\x{\x}\x", &limits, &[Failure::Over(Limit::Cpu), Failure::Errors]);
}

/// Makes TeX run a command, with each engine.
fn shell(command: &str) -> String {
    let plain = command.replace('{', r"\string{").replace('}', r"\string}");
    let plain = plain.replace('|', r"\string|").replace('&', r"\string&");
    format!(
        r"\ifdefined\directlua \directlua{{os.execute('{command}')}}\else \immediate\write18{{{plain}}}\fi"
    )
}

#[test]
fn a_paper_that_starts_programs_without_end_is_ended() {
    let limits = Limits { wall: Duration::from_secs(20), ..Limits::default() };
    let expected = [Failure::Over(Limit::Processes)];
    check_limit(&shell("while :; do sleep 60 & done"), &limits, &expected);
    // Nobody holds root to a number of processes, so the machine would stand still for a while.
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    if status.lines().any(|line| line.starts_with("Uid:\t0\t")) {
        eprintln!("skipped for root: programs that double themselves");
        return;
    }
    check_limit(&shell("bomb() { bomb | bomb & }; bomb; sleep 30"), &limits, &expected);
}

#[test]
fn a_paper_that_writes_without_end_is_ended() {
    let limits = Limits { output_bytes: 64 << 20, file_bytes: 32 << 20, ..Limits::default() };
    let fill = r"\newwrite\w \immediate\openout\w=big
        \edef\x{xxxxxxxxxxxxxxxx}\edef\x{\x\x\x\x\x\x\x\x}\edef\x{\x\x\x\x\x\x\x\x}\edef\x{\x\x\x\x\x\x\x\x}
        \newcount\n \loop \immediate\write\w{\x}\advance\n 1 \ifnum\n<1300000 \repeat";
    check_limit(fill, &limits, &[Failure::Errors, Failure::Over(Limit::Output)]);
    let many = r"\newwrite\w \newcount\f
        \edef\x{xxxxxxxxxxxxxxxx}\edef\x{\x\x\x\x\x\x\x\x}\edef\x{\x\x\x\x\x\x\x\x}\edef\x{\x\x\x\x\x\x\x\x}
        \loop \immediate\openout\w=big\number\f \immediate\write\w{\x\x\x\x\x\x\x\x}\immediate\closeout\w
        \advance\f 1 \ifnum\f<160000 \repeat";
    check_limit(many, &limits, &[Failure::Over(Limit::Output)]);
}

#[test]
fn a_paper_that_takes_memory_without_end_is_ended() {
    if !has_tex(Engine::LuaLatex) || !has_sandbox() {
        return;
    }
    let mut desk = Desk::of(&document(
        r"\directlua{local t = {} for i = 1, 1000000 do t[i] = string.rep('x', 1000000) .. i end}",
    ));
    desk.engine = Engine::LuaLatex;
    desk.limits = Limits { memory_bytes: 1 << 30, ..Limits::default() };
    let built = desk.build().unwrap();
    // The system refuses it more, or we end it; whoever comes first.
    let expected = [Failure::Over(Limit::Memory), Failure::Errors].map(Outcome::Failed);
    assert!(expected.contains(&built.outcome), "{built:#?}");
}
