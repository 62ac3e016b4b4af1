// The drawings beside the words; all of them decoration, so none has a name of its own.

const PATHS = {
  book: "M3 3h3.5c.8 0 1.5.6 1.5 1.4V13c0-.7-.6-1.2-1.3-1.2H3zM13 3H9.5C8.7 3 8 3.6 8 4.4V13c0-.7.6-1.2 1.3-1.2H13z",
  check: "m3 8.5 3.2 3.2L13 4.8",
  chevron: "m3.5 6 4.5 4.5L12.5 6",
  close: "m4 4 8 8M12 4l-8 8",
  copy: "M6.5 5.5h6a1 1 0 0 1 1 1v6a1 1 0 0 1-1 1h-6a1 1 0 0 1-1-1v-6a1 1 0 0 1 1-1zM10.5 5.5v-2c0-.6-.4-1-1-1h-6c-.6 0-1 .4-1 1v6c0 .6.4 1 1 1h2",
  disk: "M2.5 3.5h8.6l2.4 2.4v6.6h-11zM5 3.5v3h5v-3M5 12.5v-3h6v3",
  down: "M8 3v9.5M4 9l4 4 4-4",
  file: "M3.8 2h5l3.4 3.4V14H3.8zM8.8 2v3.4h3.4",
  folder: "M1.8 4.2c0-.6.4-1 1-1h3.1l1.5 1.6h5.8c.6 0 1 .4 1 1v6c0 .6-.4 1-1 1H2.8c-.6 0-1-.4-1-1z",
  gear: "M8 5.8a2.2 2.2 0 1 0 0 4.4 2.2 2.2 0 0 0 0-4.4zM8 1.8v2M8 12.2v2M1.8 8h2M12.2 8h2M3.6 3.6 5 5M11 11l1.4 1.4M12.4 3.6 11 5M5 11l-1.4 1.4",
  heading: "M4 3v10M12 3v10M4 8h8",
  image:
    "M3.2 3h9.6a1 1 0 0 1 1 1v8a1 1 0 0 1-1 1H3.2a1 1 0 0 1-1-1V4a1 1 0 0 1 1-1zM2.6 11.5 6 8l2.5 2.5 1.7-1.7 3.4 3M10.6 5a.9.9 0 1 0 0 1.8.9.9 0 0 0 0-1.8z",
  info: "M8 2.2a5.8 5.8 0 1 0 0 11.6A5.8 5.8 0 0 0 8 2.2zM8 7.4v3.4M8 5.2v.1",
  link: "M6.7 9.3a2.6 2.6 0 0 0 3.7 0L12.7 7A2.6 2.6 0 0 0 9 3.3l-.8.8M9.3 6.7a2.6 2.6 0 0 0-3.7 0L3.3 9A2.6 2.6 0 0 0 7 12.7l.8-.8",
  lower:
    "M3.4 3h9.2c.7 0 1.2.5 1.2 1.2v7.6c0 .7-.5 1.2-1.2 1.2H3.4c-.7 0-1.2-.5-1.2-1.2V4.2c0-.7.5-1.2 1.2-1.2zM2.2 9.5h11.6",
  more: "M3.5 8h.01M8 8h.01M12.5 8h.01",
  offline:
    "M2 2l12 12M3.2 6.5A8 8 0 0 1 5.6 5M8.5 4.2a8 8 0 0 1 4.6 2.3M5.4 9A4.6 4.6 0 0 1 7.3 8M10.3 8.7l.6.5M8 12v.1",
  pencil: "M3 13l.6-2.8 7-7a1.2 1.2 0 0 1 1.7 0l.5.5a1.2 1.2 0 0 1 0 1.7l-7 7z",
  people:
    "M6 3.2a2.3 2.3 0 1 0 0 4.6 2.3 2.3 0 0 0 0-4.6zM1.8 13C2 10.5 3.7 9 6 9s4 1.5 4.2 4M10.5 3.5a2.2 2.2 0 0 1 0 4.2M11.8 9.4c1.5.5 2.3 1.8 2.4 3.6",
  plus: "M8 3v10M3 8h10",
  search: "M7 2.8a4.2 4.2 0 1 0 0 8.4 4.2 4.2 0 0 0 0-8.4zM10.2 10.2l3.3 3.3",
  server:
    "M3.5 3h9a1 1 0 0 1 1 1v2.2a1 1 0 0 1-1 1h-9a1 1 0 0 1-1-1V4a1 1 0 0 1 1-1zM3.5 8.8h9a1 1 0 0 1 1 1V12a1 1 0 0 1-1 1h-9a1 1 0 0 1-1-1V9.8a1 1 0 0 1 1-1zM5 5.1h.01M5 10.9h.01",
  side: "M3.4 3h9.2c.7 0 1.2.5 1.2 1.2v7.6c0 .7-.5 1.2-1.2 1.2H3.4c-.7 0-1.2-.5-1.2-1.2V4.2c0-.7.5-1.2 1.2-1.2zM6.2 3v10",
  stop: "M5.4 2h5.2L14 5.4v5.2L10.6 14H5.4L2 10.6V5.4zM8 5v3.6M8 10.8v.1",
  tex: "M3.8 2h5l3.4 3.4V14H3.8zM6 8h4M8 8v3.6",
  up: "M8 13V3.5M4 7l4-4 4 4",
  warn: "M8 2.3l6.3 11H1.7zM8 6.5v3.2M8 11.4v.1",
} as const

export type IconName = keyof typeof PATHS

export function Icon({ name, className = "" }: { name: IconName; className?: string }) {
  return (
    <svg className={`i ${name} ${className}`} viewBox="0 0 16 16" aria-hidden="true">
      <path d={PATHS[name]} />
    </svg>
  )
}

/** Quire's mark: an open book. */
export function Mark() {
  return (
    <svg
      className="mark"
      viewBox="0 0 20 20"
      fill="none"
      stroke="currentColor"
      strokeWidth="1.6"
      strokeLinejoin="round"
      strokeLinecap="round"
      aria-hidden="true"
    >
      <path d="M2.5 4.3 10 7.3l7.5-3v9.8L10 17.1l-7.5-3z" />
      <path d="M10 7.3v9.8" />
      <path d="M5 2.5 10 4.5l5-2" strokeOpacity=".55" />
    </svg>
  )
}

/** Returns the drawing for a file by its name. */
export function fileIcon(path: string): IconName {
  if (/\.(?:tex|ltx|sty|cls)$/i.test(path)) return "tex"
  if (/\.bib$/i.test(path)) return "book"
  if (/\.(?:png|jpe?g|gif|svg|pdf|eps|webp|tiff?)$/i.test(path)) return "image"
  return "file"
}
