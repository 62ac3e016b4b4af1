//! The settings that latexmk gets for one build, in its language (Perl). Nothing of the paper goes
//! into them.

use crate::engine::Engine;

pub(super) fn settings(engine: Engine, shell_escape: bool) -> String {
    let mode = match engine {
        Engine::PdfLatex => 1,
        Engine::LuaLatex => 4,
        Engine::XeLatex | Engine::Tectonic => 5,
    };
    let shell = if shell_escape { "-shell-escape" } else { "-no-shell-escape" };
    let common = format!("{shell} -interaction=nonstopmode -file-line-error -synctex=1 %O %S");
    format!(
        "# Written by Quire for each build; changes are lost.\n\
         $pdf_mode = {mode};\n\
         $postscript_mode = $dvi_mode = 0;\n\
         $pdflatex = 'pdflatex {common}';\n\
         $lualatex = 'lualatex {common}';\n\
         $xelatex = 'xelatex -no-pdf {common}';\n\
         $recorder = 1;\n\
         $do_cd = 0;\n\
         $max_repeat = 6;\n"
    )
}
