// ashlar.mapSVG draws the map as an SVG document, for the export.
"use strict";
(() => {
  const escape = (text) => String(text).replace(/[&<>"]/g, (c) => ({ "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;" })[c]);
  const n = (x) => Math.round(x * 10) / 10;
  const corners = (x, y, r, count, turn) => Array.from({ length: count }, (_, i) => {
    const a = turn + 2 * Math.PI * i / count;
    return n(x + r * Math.cos(a)) + "," + n(y + r * Math.sin(a));
  }).join(" ");

  function shape(node, fill, line) {
    const { x, y } = node.position(), r = node.data("base") / 2;
    if (node.hasClass("place")) return `<rect x="${n(x - 71)}" y="${n(y - 25)}" width="142" height="50" rx="8" fill="${line}" stroke="${fill}" stroke-width="2"/>`;
    const paint = `fill="${fill}" stroke="${line}" stroke-width="2"`;
    switch (node.data("shape")) {
      case "circle": return `<circle cx="${n(x)}" cy="${n(y)}" r="${n(r)}" ${paint}/>`;
      case "square": return `<rect x="${n(x - r)}" y="${n(y - r)}" width="${n(2 * r)}" height="${n(2 * r)}" rx="3" ${paint}/>`;
      case "triangle": return `<polygon points="${corners(x, y, r * 1.1, 3, -Math.PI / 2)}" ${paint}/>`;
      case "diamond": return `<polygon points="${corners(x, y, r * 1.1, 4, -Math.PI / 2)}" ${paint}/>`;
      case "hexagon": return `<polygon points="${corners(x, y, r, 6, 0)}" ${paint}/>`;
    }
    return `<polygon points="${corners(x, y, r, 5, -Math.PI / 2)}" ${paint}/>`;
  }

  // line draws a link; parallel ones are curves beside each other.
  function line(edge, at, of, stroke) {
    const a = edge.source().position(), b = edge.target().position(), forward = edge.source().id() < edge.target().id() ? 1 : -1;
    const off = forward * (at - (of - 1) / 2) * 32, length = Math.hypot(b.x - a.x, b.y - a.y) || 1;
    const cx = (a.x + b.x) / 2 - (b.y - a.y) / length * off, cy = (a.y + b.y) / 2 + (b.x - a.x) / length * off;
    const dashes = edge.hasClass("down") ? ' stroke-dasharray="6 4"' : "";
    return `<path d="M${n(a.x)} ${n(a.y)}Q${n(cx)} ${n(cy)} ${n(b.x)} ${n(b.y)}" fill="none" stroke="${stroke}" stroke-width="${edge.hasClass("failure") ? 4 : 1.5}"${dashes}><title>${escape(edge.data("title"))}: ${escape(edge.data("ports"))}</title></path>`;
  }

  // ashlar.mapLetters draws the letters of a role.
  ashlar.mapLetters = (letters, fill) => `<svg xmlns="http://www.w3.org/2000/svg" width="48" height="48" viewBox="0 0 48 48"><text x="24" y="32" text-anchor="middle" font-family="sans-serif" font-weight="700" font-size="${letters.length > 1 ? 21 : 24}" fill="${fill}">${escape(letters)}</text></svg>`;

  ashlar.mapSVG = (cy, colour, font) => {
    const box = cy.elements().boundingBox({ includeLabels: false }), pad = 70, parts = [];
    const frame = [n(box.x1 - pad), n(box.y1 - pad), n(box.w + 2 * pad), n(box.h + 2 * pad)];
    parts.push(`<svg xmlns="http://www.w3.org/2000/svg" viewBox="${frame.join(" ")}" width="${frame[2]}" height="${frame[3]}" font-family="${escape(font)}">`);
    parts.push(`<rect x="${frame[0]}" y="${frame[1]}" width="${frame[2]}" height="${frame[3]}" fill="${colour("surface")}"/>`);
    cy.nodes(":parent").forEach((g) => {
      const b = g.boundingBox({ includeLabels: false });
      parts.push(`<rect x="${n(b.x1)}" y="${n(b.y1)}" width="${n(b.w)}" height="${n(b.h)}" rx="10" fill="${colour("raised")}" stroke="${colour("line")}"/><text x="${n((b.x1 + b.x2) / 2)}" y="${n(b.y1 - 6)}" text-anchor="middle" font-size="14" font-weight="600" fill="${colour("muted")}">${escape(g.data("label"))}</text>`);
    });
    const between = new Map();
    cy.edges().forEach((e) => {
      const key = [e.source().id(), e.target().id()].sort().join(" ");
      between.set(key, [...(between.get(key) || []), e]);
    });
    between.forEach((all) => all.forEach((e, i) => parts.push(line(e, i, all.length, colour(e.hasClass("down") ? "bad" : e.hasClass("failure") ? "warn" : e.hasClass("path") ? "accent" : "line-strong")))));
    cy.nodes().filter((d) => !d.isParent()).forEach((d) => {
      const { x, y } = d.position();
      if (d.hasClass("place")) {
        const [name, count] = d.data("text").split("\n");
        parts.push(`<g><title>${escape(name)}: ${escape(count)}</title>${shape(d, colour(d.data("tone")), colour("surface"))}<text x="${n(x)}" y="${n(y - 3)}" text-anchor="middle" font-size="11" font-weight="600" fill="${colour("text")}">${escape(name)}</text><text x="${n(x)}" y="${n(y + 12)}" text-anchor="middle" font-size="10" fill="${colour("muted")}">${escape(count)}</text></g>`);
        return;
      }
      parts.push(`<g><title>${escape(d.data("label"))}: ${escape([d.data("role"), d.data("status")].filter(Boolean).join(", "))}</title>${shape(d, colour(d.data("tone")), colour(d.hasClass("failure") ? "warn" : "surface"))}<text x="${n(x)}" y="${n(y + d.data("base") / 6)}" text-anchor="middle" font-size="${n(d.data("base") * 0.45)}" font-weight="700" fill="${colour("surface")}">${escape(d.data("letters") || "")}</text><text x="${n(x)}" y="${n(y + d.data("base") / 2 + 13)}" text-anchor="middle" font-size="11" fill="${colour("text")}">${escape(d.data("label"))}</text></g>`);
    });
    parts.push("</svg>");
    return parts.join("\n");
  };
})();
