// Light, dark or as the system, and more contrast when the system asks for it: sets the two
// attributes that `style/tokens.css` reads. The choice is kept by this computer's page storage.

export type Appearance = "system" | "light" | "dark"

const KEY = "appearance"
const dark = matchMedia("(prefers-color-scheme: dark)")
const contrast = matchMedia("(prefers-contrast: more)")

/** Returns the choice, "system" when none was made. */
export function appearance(): Appearance {
  const kept = localStorage.getItem(KEY)
  return kept === "light" || kept === "dark" ? kept : "system"
}

export function setAppearance(choice: Appearance) {
  localStorage.setItem(KEY, choice)
  apply()
}

/** Sets the attributes now and whenever the system or another window changes. */
export function followSystem() {
  apply()
  dark.addEventListener("change", apply)
  contrast.addEventListener("change", apply)
  addEventListener("storage", (event) => {
    if (event.key === KEY) apply()
  })
}

function apply() {
  const choice = appearance()
  const theme = choice === "system" ? (dark.matches ? "dark" : "light") : choice
  document.documentElement.dataset.theme = theme
  if (contrast.matches) document.documentElement.dataset.contrast = "more"
  else delete document.documentElement.dataset.contrast
}
