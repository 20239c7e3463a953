// The map of the network: cytoscape draws what graph.json has, where the server has placed it.
"use strict";
(() => {
  const $ = (s, at = document) => at.querySelector(s), $$ = (s, at = document) => [...at.querySelectorAll(s)];
  const canvas = $("#maps-canvas");
  if (!canvas || !window.cytoscape) return;
  const calm = matchMedia("(prefers-reduced-motion: reduce)").matches;
  const shapes = { circle: "ellipse", triangle: "round-triangle", diamond: "diamond", square: "round-rectangle", hexagon: "hexagon", pentagon: "pentagon" };
  const asked = new URLSearchParams(location.search), ends = [asked.get("from"), asked.get("to")];
  let cy, graph, busy, drawn, touched; // busy is the number of links of a hub

  // Colours come from the tokens, as they are now.
  const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue("--" + name).trim();
  const tones = ["good", "warn", "bad", "info", "idle"];

  // paper calls draw with the colours of paper, which are light in every theme.
  function paper(draw) {
    const root = document.documentElement, theme = root.getAttribute("data-theme");
    root.setAttribute("data-theme", "light");
    try { return draw(); } finally { theme === null ? root.removeAttribute("data-theme") : root.setAttribute("data-theme", theme); }
  }
  const svg = () => paper(() => ashlar.mapSVG(cy, colour, getComputedStyle(document.body).fontFamily));

  // lettered returns the picture of the letters of a role, in the middle of a device.
  const picture = (text) => "data:image/svg+xml," + encodeURIComponent(text);
  const lettered = (fill) => (n) => picture(ashlar.mapLetters(n.data("letters"), fill));

  function styles() {
    const of = Object.fromEntries(["surface", "page", "raised", "text", "muted", "line", "line-strong", "accent", ...tones].map((n) => [n, colour(n)]));
    const font = getComputedStyle(document.body).fontFamily;
    return [
      { selector: "node", style: { width: "data(size)", height: "data(size)", shape: "data(form)", "background-color": of.idle, "border-width": 2, "border-color": of.surface, "overlay-opacity": 0,
        "font-family": font, "font-size": 11, color: of.text, "text-valign": "bottom", "text-margin-y": 3, "text-outline-color": of.raised, "text-outline-width": 2.5, "text-outline-opacity": 1, "z-index": 1 } },
      { selector: "node[letters]", style: { "background-image": lettered(of.surface), "background-width": "100%", "background-height": "100%" } },
      ...tones.map((t) => ({ selector: `node[tone="${t}"]`, style: { "background-color": of[t] } })),
      { selector: "node.place", style: { width: 142, height: 50, shape: "round-rectangle", label: "data(text)", "background-color": of.surface, "border-width": 2, "text-valign": "center", "text-margin-y": 0, "text-wrap": "wrap",
        "text-outline-width": 0, "font-size": 13, "font-weight": 600, "line-height": 1.3 } },
      ...tones.map((t) => ({ selector: `node.place[tone="${t}"]`, style: { "border-color": of[t] } })),
      { selector: "node.labelled", style: { label: "data(label)", "z-index": 2 } },
      { selector: ":parent", style: { shape: "round-rectangle", "background-color": of.surface, "background-opacity": 0.75, "border-width": 1, "border-color": of.line, padding: 44, "compound-sizing-wrt-labels": "exclude",
        label: "data(label)", "font-size": 14, "font-weight": 600, color: of.muted, "text-valign": "top", "min-zoomed-font-size": 7, "text-margin-y": -4, "text-outline-width": 0, "text-wrap": "ellipsis" } },
      { selector: "edge", style: { width: "mapData(thick, 0, 4, 0, 6)", "line-color": of["line-strong"], "curve-style": "bezier", "control-point-step-size": 16, "overlay-opacity": 0, "line-opacity": graph.edges.length > 150 && !graph.places ? 0.6 : 1 } },
      { selector: "edge.down", style: { "line-color": of.bad, "line-style": "dashed" } },
      { selector: "edge.path", style: { "line-color": of.accent, width: 3, "control-point-step-size": 50 } },
      { selector: "edge.path.down", style: { "line-color": of.bad } },
      { selector: "edge.failure", style: { "line-color": of.warn, width: 4 } },
      { selector: "node.failure", style: { "border-width": 3, "border-color": of.raised, "outline-width": 3, "outline-color": of.warn, "outline-offset": 0 } },
      { selector: "edge.labelled", style: { label: "data(ports)", "font-family": font, "font-size": 10, color: of.muted, "text-outline-color": of.raised, "text-outline-width": 2.5, "text-rotation": "autorotate" } },
      { selector: ".faded", style: { opacity: 0.18 } },
      { selector: "node.near[!text]", style: { "border-color": of.accent, "border-width": 3 } },
      { selector: "edge.near", style: { "line-color": of.accent, width: 3 } },
      { selector: "edge.near.down", style: { "line-color": of.bad } },
      { selector: "node:selected", style: { "border-color": of.accent, "border-width": 4, "z-index": 10 } },
    ];
  }

  function elements() {
    const name = Object.fromEntries(graph.nodes.map((n) => [n.id, n.hostname]));
    const groups = (graph.groups || []).map((g) => ({ data: { id: "group-" + g.id, label: g.label, space: g.space }, selectable: false, grabbable: true }));
    const nodes = graph.nodes.map((n) => ({
      data: { id: n.id, label: n.hostname, letters: n.letters || undefined, role: n.role, tone: n.tone, form: shapes[n.shape] || "pentagon", shape: n.shape, status: n.status, degree: n.degree, base: 20 + Math.min(16, 3 * Math.sqrt(n.degree)), size: 24, parent: groups.length ? "group-" + (n.location_id || "") : undefined },
      position: { x: n.x, y: n.y }, classes: n.cut_off ? "failure" : "",
    }));
    if (graph.places) graph.nodes.forEach((n, i) => {
      Object.assign(nodes[i].data, { text: n.hostname + "\n" + (n.down ? `${n.count} · ${n.down} down` : n.count === 1 ? "1 device" : `${n.count} devices`) });
      nodes[i].classes = "place";
    });
    const edges = graph.edges.map((e) => ({
      data: { id: e.id, source: e.a.device_id, target: e.b.device_id, ports: graph.places ? `${e.count} ${e.count === 1 ? "link" : "links"}` : e.a.interface + " – " + e.b.interface, thick: 1, weight: Math.min(2.5, 1 + 0.4 * ((e.count || 1) - 1)), title: name[e.a.device_id] + " – " + name[e.b.device_id] },
      classes: [e.state === "down" ? "down" : "", e.cut_off ? "failure" : "", canvas.dataset.paths ? "path" : ""].join(" "),
    }));
    return [...groups, ...nodes, ...edges];
  }

  // Sizes follow the zoom, so that devices stay visible and labels readable. Labels are shown as far as they
  // do not overlap, the most important first.
  let due;
  const soon = () => { cancelAnimationFrame(due); due = requestAnimationFrame(describe); };
  function describe() {
    titles();
    if (graph.places) return;
    const zoom = cy.zoom(), dot = Math.max(1, Math.min(1.8, 0.5 / zoom), 0.3 / zoom), font = 11.5 / Math.max(zoom, 0.02), taken = new Map();
    const free = (box) => {
      for (let x = Math.floor(box[0] / 60); x <= Math.floor(box[2] / 60); x++) for (let y = Math.floor(box[1] / 60); y <= Math.floor(box[3] / 60); y++) {
        for (const b of taken.get(x + "," + y) || []) if (b[0] < box[2] && b[2] > box[0] && b[1] < box[3] && b[3] > box[1]) return false;
      }
      return true;
    };
    const take = (box) => {
      for (let x = Math.floor(box[0] / 60); x <= Math.floor(box[2] / 60); x++) for (let y = Math.floor(box[1] / 60); y <= Math.floor(box[3] / 60); y++) {
        const key = x + "," + y;
        if (!taken.has(key)) taken.set(key, []);
        taken.get(key).push(box);
      }
    };
    const hub = (n) => (zoom > 0.13 && n.data("degree") >= busy) || n.selected() || n.hasClass("near");
    const weight = (n) => (n.selected() ? 1e6 : ends.includes(n.id()) ? 5e5 : 0) + (n.hasClass("near") ? 1e5 : 0) + (n.hasClass("failure") ? 1e3 : 0) + (n.data("tone") === "bad" ? 500 : 0) + n.data("degree") - (n.hasClass("faded") ? 1e4 : 0);
    const all = cy.nodes().filter((n) => !n.isParent()).toArray().sort((a, b) => hub(b) - hub(a) || weight(b) - weight(a));
    const view = { w: cy.width(), h: cy.height() };
    cy.nodes(":parent").forEach((g) => { const b = g.renderedBoundingBox({ includeLabels: false }), half = Math.min(g.data("label").length * 4, Math.max(g.data("space"), g.width() + 88) * zoom / 2); take([(b.x1 + b.x2) / 2 - half, b.y1 - 20, (b.x1 + b.x2) / 2 + half, b.y1]); });
    const dots = (which) => { for (const n of all.filter(which)) { const p = n.renderedPosition(), r = n.data("base") * dot * zoom / 2; take([p.x - r, p.y - r, p.x + r, p.y + r]); } };
    dots((n) => n.data("tone") !== "good");
    let past = false; // the hubs, whose labels may cover devices without a problem
    cy.batch(() => {
      for (const n of all) {
        if (!past && !hub(n)) { past = true; dots((d) => d.data("tone") === "good"); }
        const size = n.data("base") * dot, p = n.renderedPosition(), half = n.data("label").length * 3.2 + 3, top = p.y + size * zoom / 2 + 2.5, box = [p.x - half, top, p.x + half, top + 13];
        n.data("size", size);
        const seen = box[2] > 0 && box[0] < view.w && box[3] > 0 && box[1] < view.h, show = n.selected() || (seen && !n.hasClass("faded") && free(box));
        if (show) { take(box); n.style({ "font-size": font, "text-outline-width": 2.5 / zoom, "text-margin-y": 3 / zoom }); }
        n.toggleClass("labelled", show);
      }
      const thick = Math.max(1, Math.min(3, 0.45 / zoom));
      cy.edges().forEach((e) => { e.toggleClass("labelled", (e.hasClass("near") || e.hasClass("path")) && zoom > 0.75 && length(e) > e.data("ports").length * 5.6 + 50); });
      if (thick !== drawn) cy.edges().forEach((e) => { e.data("thick", thick); if (e.hasClass("down")) e.style("line-dash-pattern", [6 * thick, 4 * thick]); });
      drawn = thick;
    });
  }

  // titles sets the sizes of the titles of boxes, and cuts off what is wider than its box: so they do not overlap.
  function titles() {
    const size = Math.max(14, 12.5 / cy.zoom());
    cy.nodes(":parent").forEach((g) => { g.style({ "font-size": size, "text-max-width": Math.max(g.data("space"), g.width() + 88) }); });
  }

  const length = (e) => { const a = e.source().position(), b = e.target().position(); return Math.hypot(a.x - b.x, a.y - b.y); };

  function highlight(n) {
    cy.batch(() => {
      cy.elements().removeClass("near faded");
      if (!n || n.empty()) return;
      const near = n.closedNeighborhood();
      near.addClass("near");
      if (cy.nodes().length > 12) cy.elements().not(near).not(":parent").addClass("faded");
    });
    soon();
  }

  async function select(n, center) {
    touched = true;
    cy.elements().unselect();
    n.select();
    highlight(n);
    if (center) {
      const zoom = Math.max(cy.zoom(), 0.9), at = n.position(), pan = { x: cy.width() / 2 - zoom * at.x, y: cy.height() / 2 - zoom * at.y };
      cy.animate({ zoom, pan }, { duration: calm ? 0 : 250, complete: soon });
    }
    const query = canvas.dataset.from ? "?from=" + encodeURIComponent(canvas.dataset.from) : "";
    await htmx.ajax("GET", canvas.dataset.device + n.id() + query, { target: "#maps-panel", swap: "innerHTML" });
  }

  const act = {
    in: () => zoomBy(1.35), out: () => zoomBy(1 / 1.35), fit: () => { cy.fit(undefined, 36); limit(); soon(); },
    arrange,
    png: () => download("png"), svg: () => download("svg"), save,
  };
  const zoomBy = (by) => { touched = true; cy.zoom({ level: cy.zoom() * by, renderedPosition: { x: cy.width() / 2, y: cy.height() / 2 } }); };
  const limit = () => { if (cy.zoom() > 1.25) { cy.zoom(1.25); cy.center(); } };
  const changed = () => { const b = $("[data-map=save]"); if (b) b.disabled = false; soon(); };

  // arrange moves the devices to where the server puts them without saved positions.
  async function arrange() {
    const answer = await fetch(canvas.dataset.source + "&arrange=1", { headers: { "HX-Request": "true" } });
    if (!answer.ok) return ashlar.toast(await answer.text(), true);
    const fresh = await answer.json();
    cy.batch(() => fresh.nodes.forEach((n) => cy.getElementById(n.id).position({ x: n.x, y: n.y })));
    act.fit();
    changed();
  }

  async function save() {
    const positions = {};
    cy.nodes().forEach((n) => { if (!n.isParent()) positions[n.id()] = [Math.round(n.position("x") * 10) / 10, Math.round(n.position("y") * 10) / 10]; });
    const answer = await fetch(canvas.dataset.save, {
      method: "POST", headers: { "Content-Type": "application/json", "HX-Request": "true", "X-Form-Token": ashlar.token() }, body: JSON.stringify({ view: canvas.dataset.view, positions }),
    });
    if (!answer.ok) return ashlar.toast(await answer.text(), true);
    $("[data-map=save]").disabled = true;
    ashlar.toast("The positions are saved for everybody.");
  }

  // file returns the whole map as a file.
  async function file(kind) {
    if (kind === "svg") return new Blob([svg()], { type: "image/svg+xml" });
    const image = new Image(), sheet = document.createElement("canvas");
    image.src = picture(svg());
    await image.decode();
    const scale = Math.min(2, 8000 / Math.max(image.width, image.height));
    Object.assign(sheet, { width: image.width * scale, height: image.height * scale });
    sheet.getContext("2d").drawImage(image, 0, 0, sheet.width, sheet.height);
    return new Promise((done) => sheet.toBlob(done));
  }
  async function download(kind) {
    const a = document.createElement("a");
    a.href = URL.createObjectURL(await file(kind));
    a.download = "network." + kind;
    a.click();
    setTimeout(() => URL.revokeObjectURL(a.href), 10000);
  }

  function keys(e) {
    const step = 60, pan = { ArrowLeft: [step, 0], ArrowRight: [-step, 0], ArrowUp: [0, step], ArrowDown: [0, -step] }[e.key];
    if (e.ctrlKey || e.metaKey || e.altKey) return;
    if (pan) cy.panBy({ x: pan[0], y: pan[1] });
    else if (e.key === "+" || e.key === "=") act.in();
    else if (e.key === "-") act.out();
    else if (e.key === "0") act.fit();
    else if (e.key === "Escape") { cy.elements().unselect(); highlight(); }
    else return;
    e.preventDefault();
  }

  function search() {
    const box = $(".maps-search"), input = $("input", box), names = new Map(graph.nodes.map((n) => [n.hostname.toLowerCase(), n.id]));
    box.hidden = false;
    if (graph.places) {
      input.addEventListener("keydown", (e) => { if (e.key === "Enter" && input.value.trim()) location.assign(canvas.dataset.find + encodeURIComponent(input.value.trim())); });
      return;
    }
    $("datalist", box).append(...graph.nodes.map((n) => Object.assign(document.createElement("option"), { value: n.hostname })));
    const go = (loose) => {
      const asked = input.value.trim().toLowerCase();
      if (!asked) return;
      const id = names.get(asked) || (loose && [...names].find(([name]) => name.includes(asked))?.[1]);
      if (id) select(cy.getElementById(id), true);
      else if (loose) ashlar.toast("No device on this map is called “" + input.value.trim() + "”.", true);
    };
    input.addEventListener("input", () => go(false));
    input.addEventListener("keydown", (e) => { if (e.key === "Enter") { e.preventDefault(); go(true); } });
  }

  // open shows the devices of a location.
  function open(n) { if (n.id() !== "none") location.assign(canvas.dataset.open.replace("location=-", "location=" + encodeURIComponent(n.id()))); }

  function listen() {
    cy.on("tap", "node", (e) => { if (!e.target.isParent()) graph.places ? open(e.target) : select(e.target); });
    cy.on("tap", (e) => { if (e.target === cy) { cy.elements().unselect(); highlight(); } });
    cy.on("mouseover", "node", (e) => { if (!e.target.isParent() && cy.$(":selected").empty()) highlight(e.target); canvas.classList.toggle("maps-over", !e.target.isParent()); });
    cy.on("mouseout", "node", () => { if (cy.$(":selected").empty()) highlight(); canvas.classList.remove("maps-over"); });
    cy.on("dragfree", "node", changed);
    cy.on("zoom pan", soon);
    cy.on("tapstart scrollzoom pinchzoom", () => { touched = true; });
    new ResizeObserver(() => { cy.resize(); if (!touched) act.fit(); describe(); }).observe(canvas);
    addEventListener("beforeprint", () => { $(".maps-paper").innerHTML = svg(); });
    canvas.addEventListener("keydown", keys);
    document.addEventListener("click", (e) => {
      const b = e.target.closest("[data-map]");
      if (b) act[b.dataset.map]();
      const mark = e.target.closest(".maps-side [data-node], .maps-side [data-edge]"), on = mark && cy.getElementById(mark.dataset.node || mark.dataset.edge);
      if (!on || on.empty() || e.ctrlKey || e.metaKey || e.shiftKey) return;
      e.preventDefault();
      if (on.isNode()) return select(on, true);
      cy.elements().unselect();
      highlight(on.connectedNodes());
      cy.animate({ fit: { eles: on.connectedNodes(), padding: 160 } }, { duration: calm ? 0 : 250, complete: limit });
    });
    const dark = matchMedia("(prefers-color-scheme: dark)");
    dark.addEventListener("change", () => { cy.style(styles()); drawn = 0; describe(); });
  }

  async function start() {
    const answer = await fetch(canvas.dataset.source, { headers: { "HX-Request": "true" } });
    canvas.hidden = false;
    if (!answer.ok) { canvas.textContent = "The map could not be read: " + await answer.text(); return; }
    graph = await answer.json();
    // cytoscape adds a style sheet unless there is an element with this id. Ours has what it needs.
    document.head.append(Object.assign(document.createElement("meta"), { id: "__________cytoscape_stylesheet" }));
    cy = cytoscape({
      container: canvas, elements: elements(), style: styles(), layout: { name: "preset" }, minZoom: 0.03, maxZoom: 4, boxSelectionEnabled: false,
      textureOnViewport: graph.nodes.length > 1000, hideEdgesOnViewport: graph.edges.length > 3000, pixelRatio: "auto",
    });
    const degrees = graph.nodes.map((n) => n.degree).sort((a, b) => b - a);
    busy = Math.max(4, degrees[Math.min(degrees.length - 1, 60)] || 0);
    cy.fit(undefined, 36);
    limit();
    listen();
    search();
    $$(".maps-actions, .maps-zoom, .maps-hint").forEach((e) => { e.hidden = false; });
    describe();
    if (graph.places) cy.edges().forEach((e) => e.data("thick", e.data("weight") * 1.5));
    if (canvas.dataset.selected) { const n = cy.getElementById(canvas.dataset.selected); n.select(); soon(); }
    ashlar.map = { cy, file };
    canvas.dataset.ready = "1";
  }
  start();
})();
