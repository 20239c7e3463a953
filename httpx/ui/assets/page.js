// What pages add to their HTML: the palette, shortcuts, live updates, copying, dropping files, charts.
// Everything works without it, more slowly.
"use strict";
(() => {
  const body = document.body, $ = (s, at = document) => at.querySelector(s), $$ = (s, at = document) => [...at.querySelectorAll(s)];
  const prefix = body.dataset.prefix || "";
  const token = () => JSON.parse(body.getAttribute("hx-headers") || "{}")["X-Form-Token"] || "";
  // htmx keeps the path of the page; nothing is to be kept in the browser.
  const forget = () => { try { sessionStorage.removeItem("htmx-current-path-for-history"); } catch { /* there is no storage */ } };
  forget();
  ["htmx:pushedIntoHistory", "htmx:replacedInHistory"].forEach((kind) => body.addEventListener(kind, forget));

  const page = window.ashlar = { prefix, token, toast };

  function toast(text, bad) {
    const t = document.createElement("p");
    t.className = bad ? "toast toast-bad" : "toast";
    t.textContent = text;
    $("#toasts").append(t);
    setTimeout(() => t.remove(), 6000);
  }
  body.addEventListener("htmx:responseError", (e) => {
    const text = e.detail.xhr.responseText;
    if (e.detail.xhr.status === 401) location.reload();
    else toast(text.startsWith("<") ? "The server refused: " + e.detail.xhr.status : text, true);
  });
  body.addEventListener("htmx:sendError", () => toast("The server does not answer.", true));

  // Menus close on a click elsewhere and on Escape.
  document.addEventListener("click", (e) => $$("details.menu[open], details.popover[open], details.drawer[open]").forEach((d) => { if (!d.contains(e.target)) d.open = false; }));

  document.addEventListener("click", async (e) => {
    const b = e.target.closest("[data-copy], [data-copy-from], [data-copy-link]");
    if (!b) return;
    const text = "copyLink" in b.dataset ? location.href : b.dataset.copy ?? $(b.dataset.copyFrom).textContent;
    try { await navigator.clipboard.writeText(text); toast("Copied."); } catch { toast("The browser does not allow copying here. Select the text instead.", true); }
  });

  // A popover that opens has the cursor where something is typed.
  document.addEventListener("toggle", (e) => { if (e.target.open && e.target.matches?.("details.popover")) $("[data-focus]", e.target)?.focus(); }, true);

  // Buttons that submit their form when a field changes, and forms that need no button then.
  document.addEventListener("change", (e) => { const f = e.target.closest("[data-submit-on-change]"); if (f) (f.form ?? f).requestSubmit(); });
  document.addEventListener("change", (e) => {
    if (e.target.matches("[data-select-all]")) $$("[data-select]").forEach((c) => { c.checked = e.target.checked; });
    if (e.target.matches("[data-select], [data-select-all]")) selection();
  });
  // With Shift, all rows from the last one that was chosen.
  let chosen;
  document.addEventListener("click", (e) => {
    if (!e.target.matches("[data-select]")) return;
    const all = $$("[data-select]"), at = all.indexOf(e.target), from = all.indexOf(chosen);
    if (e.shiftKey && from >= 0) all.slice(Math.min(at, from), Math.max(at, from) + 1).forEach((c) => { c.checked = e.target.checked; });
    chosen = e.target;
  });
  function selection() {
    const n = $$("[data-select]:checked").length;
    $$("[data-selection]").forEach((s) => { s.hidden = n === 0; const c = $("[data-selection-count]", s); if (c) c.textContent = n; });
    $$("[data-select]").forEach((c) => c.closest("tr")?.classList.toggle("selected", c.checked));
    if ($("[data-select]:not(:checked)")) $$("[data-select-every]").forEach((c) => { c.checked = false; });
  }
  body.addEventListener("htmx:afterSettle", () => { selection(); charts(); });

  // Files that are dropped onto a zone.
  $$("[data-drop]").forEach((zone) => {
    const input = $("input[type=file]", zone);
    ["dragover", "dragleave", "drop"].forEach((kind) => zone.addEventListener(kind, (e) => {
      e.preventDefault();
      zone.classList.toggle("drop-over", kind === "dragover");
      if (kind === "drop" && e.dataTransfer.files.length) { input.files = e.dataTransfer.files; input.dispatchEvent(new Event("change", { bubbles: true })); }
    }));
  });

  // The command palette.
  const palette = $("#palette"), asked = $("#palette-input"), results = $("#palette-results");
  let timer, asking = 0, found = null, entered = false; // what the results are for, and whether Enter waits for others
  function openPalette() { if (palette && !palette.open) { palette.showModal(); asked.value = ""; results.replaceChildren(); entered = false; find(); } }
  async function find() {
    const mine = ++asking, text = asked.value;
    const answer = await fetch(body.dataset.search + "?part=palette&q=" + encodeURIComponent(text), { headers: { "HX-Request": "true" } });
    if (mine !== asking || !answer.ok) return;
    results.innerHTML = await answer.text();
    found = text;
    choose(0);
    if (entered) $("[role=option]", results)?.click();
    entered = false;
  }
  function choose(n) {
    const all = $$("[role=option]", results);
    all.forEach((a, i) => { a.setAttribute("aria-selected", String(i === n)); if (!a.id) a.id = "palette-" + i; });
    if (all[n]) { all[n].scrollIntoView({ block: "nearest" }); asked.setAttribute("aria-activedescendant", all[n].id); } else asked.removeAttribute("aria-activedescendant");
  }
  if (palette) {
    asked.addEventListener("input", () => { entered = false; clearTimeout(timer); timer = setTimeout(find, 120); });
    asked.addEventListener("keydown", (e) => {
      const all = $$("[role=option]", results), at = all.findIndex((a) => a.getAttribute("aria-selected") === "true");
      if (e.key === "ArrowDown") { e.preventDefault(); choose(Math.min(all.length - 1, at + 1)); }
      if (e.key === "ArrowUp") { e.preventDefault(); choose(Math.max(0, at - 1)); }
      if (e.key === "Escape") { e.preventDefault(); entered = false; palette.close(); } // else the first one empties the field
      if (e.key !== "Enter") return;
      e.preventDefault();
      if (found === asked.value) all[at]?.click();
      else { entered = true; clearTimeout(timer); find(); }
    });
    palette.addEventListener("click", (e) => { if (e.target === palette) palette.close(); });
  }

  // Keyboard shortcuts, as the dialog lists them.
  let row = -1, going = false;
  function walk(step) {
    const rows = $$("[data-row]");
    if (!rows.length) return;
    rows[row]?.classList.remove("current");
    row = Math.max(0, Math.min(rows.length - 1, row + step));
    rows[row].classList.add("current");
    rows[row].scrollIntoView({ block: "nearest" });
  }
  document.addEventListener("keydown", (e) => {
    if ((e.ctrlKey || e.metaKey) && e.key.toLowerCase() === "k") { e.preventDefault(); openPalette(); return; }
    if (e.key === "Escape") $$("details.menu[open], details.popover[open], details.drawer[open]").forEach((d) => { d.open = false; $("summary", d).focus(); });
    if (e.ctrlKey || e.metaKey || e.altKey || e.target.closest("input, textarea, select, dialog[open]")) return;
    const current = $$("[data-row]")[row];
    if (going) {
      going = false;
      const to = $(`[data-go="${CSS.escape(e.key)}"]`);
      if (e.key === "h") location.assign(prefix + "/");
      else if (to) to.click();
      return;
    }
    switch (e.key) {
      case "/": { const s = $("[data-list-search]") || $("#bar-search"); if (s) { e.preventDefault(); s.focus(); s.select(); } break; }
      case "?": $("#shortcuts").showModal(); break;
      case "j": walk(1); break;
      case "k": walk(-1); break;
      case "x": { const c = current && $("[data-select]", current); if (c) { c.checked = !c.checked; selection(); } break; }
      case "Enter": if (current && !e.target.closest("a, button, summary")) $("a", current)?.click(); break;
      case "e": $("[data-key=edit]")?.click(); break;
      case "n": $("[data-key=new]")?.click(); break;
      case "g": going = true; setTimeout(() => { going = false; }, 1500); break;
    }
  });

  // Pages follow changes. An element with data-follow, a list of resources, asks for itself again. A page that nobody
  // sees has no stream: browsers and the server allow only a few. It continues behind the last change that it has.
  const follows = $$("[data-follow]"), lamp = $("[data-live-state]");
  if (body.dataset.live && follows.length) {
    const rest = 2000, again = 15000; // milliseconds between updates, and until a refused stream is tried again
    const seen = new Map(), names = [...new Set(follows.flatMap((f) => f.dataset.follow.split(" ")))];
    let stream, last = "", retry, pending = new Set(), timer, updated = 0;
    const state = (s) => { if (lamp) { lamp.dataset.liveState = s; $(".live-text", lamp).textContent = s === "open" ? "Live" : "Reconnecting"; } };
    const changed = (resource, id) => {
      if (id) seen.set(id, Date.now());
      if (seen.size > 1000) seen.delete(seen.keys().next().value);
      pending.add(resource);
      timer ??= setTimeout(update, Math.max(250, updated + rest - Date.now()));
    };
    const open = () => {
      clearTimeout(retry);
      if (stream || document.hidden) return;
      const from = new URLSearchParams(names.map((n) => ["resource", n]));
      if (last) from.set("since", last);
      stream = new EventSource(body.dataset.live + "?" + from);
      stream.onopen = () => state("open");
      stream.onerror = () => { state("lost"); if (stream?.readyState === EventSource.CLOSED) { close(); retry = setTimeout(open, again); } };
      stream.addEventListener("message", (e) => { last = e.lastEventId; });
      stream.addEventListener("change", (e) => { const c = JSON.parse(e.data); last = e.lastEventId; changed(c.resource, c.id); });
      stream.addEventListener("reset", () => { last = ""; names.forEach((n) => changed(n)); });
    };
    const close = () => { clearTimeout(retry); stream?.close(); stream = undefined; };
    const update = () => {
      const now = pending;
      pending = new Set();
      timer = undefined;
      updated = Date.now();
      follows.map((f) => document.getElementById(f.id) || f).forEach((f) => {
        if (!f.dataset.follow.split(" ").some((n) => now.has(n))) return;
        if (f.contains(document.activeElement) && document.activeElement.matches("input:not([type=checkbox]), textarea, select")) return;
        if ($$("[data-select]:checked", f).length) { toast("Records of this list have changed. The list is updated when nothing is selected."); return; }
        htmx.ajax("GET", f.dataset.source || location.pathname + location.search, { target: f, swap: f.dataset.swap || "outerHTML", source: f }).then(mark);
      });
    };
    const mark = () => $$("[data-id]").forEach((r) => { if (Date.now() - seen.get(r.dataset.id) < 6000) r.classList.add("changed"); });
    document.addEventListener("visibilitychange", () => document.hidden ? close() : open());
    addEventListener("pagehide", close);
    addEventListener("pageshow", open);
    open();
  } else if (lamp) lamp.hidden = true;

  // Charts: an element with data-chart, the address of {"series":[{"label","unit","values"}],"times"}.
  function charts() {
    $$("[data-chart]:not([data-drawn])").forEach(async (at) => {
      if (!window.uPlot) return;
      at.dataset.drawn = "1";
      const answer = await fetch(at.dataset.chart);
      if (!answer.ok) { at.textContent = "The measurements could not be read."; return; }
      const data = await answer.json();
      if (!data.times.length) { at.textContent = "No measurements in this time."; return; }
      const style = getComputedStyle(document.documentElement), colour = (n) => style.getPropertyValue(n).trim();
      const strokes = ["--accent", "--info", "--warn", "--bad"].map(colour);
      const axis = { stroke: colour("--muted"), grid: { stroke: colour("--line"), width: 1 }, ticks: { stroke: colour("--line") } };
      at.textContent = "";
      const chart = new uPlot({
        width: at.clientWidth, height: 200, axes: [axis, { ...axis, size: 46 }], scales: { y: { range: (_, low, high) => [Math.min(0, low ?? 0), (high ?? 1) * 1.1 || 1] } },
        series: [{}].concat(data.series.map((s, i) => ({ label: s.label + (s.unit ? " (" + s.unit + ")" : ""), stroke: strokes[i % strokes.length], width: 1.5, points: { show: data.times.length < 3 } }))),
      }, [data.times].concat(data.series.map((s) => s.values)), at);
      new ResizeObserver(() => chart.setSize({ width: at.clientWidth, height: 200 })).observe(at);
    });
  }
  document.addEventListener("DOMContentLoaded", charts); // deferred scripts of the page, such as uPlot, have run then
})();
