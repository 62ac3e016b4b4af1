// The paper that the stub shows: enough of every kind of line that a screen is like a real one.

const model = String.raw`\section{Detection model}
\label{sec:model}
A bird that crosses the field of view is recorded only if it is warm enough against the sky and large enough on the sensor. Both conditions weaken with range. We write the probability of detection at range~$r$ as
\begin{equation}
  p(r) = \frac{1}{1 + \exp\bigl((r - r_{1/2})/s\bigr)},
  \label{eq:detection}
\end{equation}
where $r_{1/2}$ is the range at which half of the birds are missed and $s$ sets how sharply the camera fails. Humid air absorbs between 8 and 14\,\textmu m, so both depend on the dew point, which we read from the mast every ten minutes.

The passage rate across a line of one kilometer follows from the counts~$n_j$ in height bands~$j$,
\begin{equation}
  R = \sum_j \frac{n_j}{p(r_j)\, w_j\, T},
  \label{eq:rate}
\end{equation}
with $w_j$ the width of the field of view in the middle of the band and $T$ the time observed. Bands are 50\,m high up to 600\,m; above that fewer than one bird in twenty is seen (\cref{fig:range}).

% Sana: say why we do not correct for cloud here
\paragraph{Calibration.} On eleven nights a vertical radar stood 40\,m from the camera~\cite{station2024}. Of 2\,318 radar tracks below 600\,m the camera saw 1\,407.

\paragraph{Error budget.} Counting, calibration and the dew point each add their share; \cref{tab:errors} lists them.
`

const main = String.raw`\documentclass[11pt]{article}
\usepackage{graphicx}
\usepackage[capitalise]{cleveref}
\title{Counting night migrants}
\author{Sana \and Mira \and Jonas}

\begin{document}
\maketitle
\input{sections/introduction}
\input{sections/model}
\input{sections/field-work}
\input{sections/results}
\bibliographystyle{plain}
\bibliography{references}
\end{document}
`

/** Texts by path, sizes of figures by path, and where the paper is opened. */
export const samplePaper = {
  title: "Counting night migrants",
  folder: "/home/sana/papers/night-migrants",
  first: "sections/model.tex",
  head: model.indexOf("Of 2\\,318") - 1,
  texts: {
    "main.tex": main,
    "sections/introduction.tex": "\\section{Introduction}\nMost songbirds migrate at night.\n",
    "sections/model.tex": model,
    "sections/field-work.tex": "\\section{Field work}\n\\subsection{Sites}\n\\subsection{Nights}\n",
    "sections/results.tex": "\\section{Results}\n",
    "references.bib":
      "@article{station2024,\n  author = {Mira Holm and Jonas Reuter},\n  title = {A Station at Night},\n  year = 2024\n}\n",
    "notes.md": "# Notes\n",
  } as Record<string, string>,
  blobs: {
    "figures/range.pdf": 24_310,
    "figures/site-map.pdf": 118_204,
    "figures/tracks.png": 412_880,
  },
}
