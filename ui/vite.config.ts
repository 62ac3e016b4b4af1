// How the page is built and served; the shell embeds `dist`.
import react from "@vitejs/plugin-react"
import { defineConfig } from "vite"

export default defineConfig({
  plugins: [react()],
  clearScreen: false,
  // Tauri's `devUrl` names this port.
  server: { port: 5173, strictPort: true },
  build: {
    target: ["es2023", "safari17"],
    // One window loads the page from the program itself: few files matter more than small ones.
    chunkSizeWarningLimit: 2000,
  },
})
