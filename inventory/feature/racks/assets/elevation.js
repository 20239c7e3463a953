// Moving devices of a rack by dragging them. The form beside the rack does the same without it.
"use strict";
(() => {
  const rack = document.querySelector(".maps-rack[data-rack]");
  if (!rack) return;
  document.querySelectorAll(".maps-drag-hint").forEach((e) => { e.hidden = false; });
  document.body.classList.add("maps-drags");
  let drag;

  const clear = () => rack.querySelectorAll(".maps-target").forEach((c) => c.classList.remove("maps-target"));
  // place returns the lowest unit and the face for a device whose top is at a point.
  function place(x, y, height) {
    const row = document.elementsFromPoint(x, y).find((e) => e.closest?.(".maps-rack tbody"));
    if (!row) return null;
    const rows = [...rack.tBodies[0].rows], at = rows.findIndex((r) => { const b = r.getBoundingClientRect(); return y >= b.top && y < b.bottom; });
    if (at < 0) return null;
    const first = Math.min(at, rows.length - height), head = rack.tHead.rows[0].cells, back = head[2].getBoundingClientRect();
    return { rows: rows.slice(first, first + height), unit: rows[first + height - 1].dataset.unit, face: x >= back.left ? "back" : "front" };
  }

  document.addEventListener("pointerdown", (e) => {
    const from = e.target.closest("[data-device]");
    if (!from || e.button !== 0 || e.pointerType === "touch") return;
    drag = { from, x: e.clientX, y: e.clientY, height: Number(from.dataset.height), device: from.dataset.device };
  });
  document.addEventListener("pointermove", (e) => {
    if (!drag) return;
    if (!drag.ghost) {
      if (Math.hypot(e.clientX - drag.x, e.clientY - drag.y) < 6) return;
      drag.ghost = document.createElement("div");
      drag.ghost.className = "maps-ghost";
      drag.ghost.textContent = drag.from.querySelector("a").textContent;
      document.body.append(drag.ghost);
      document.body.classList.add("maps-dragging");
    }
    e.preventDefault();
    drag.ghost.style.transform = `translate(${e.clientX + 12}px, ${e.clientY + 8}px)`;
    clear();
    drag.to = place(e.clientX, e.clientY, drag.height);
    drag.to?.rows.forEach((r) => r.classList.add("maps-target"));
  });
  const end = () => { drag?.ghost?.remove(); document.body.classList.remove("maps-dragging"); drag = null; };
  document.addEventListener("pointerup", (e) => {
    if (!drag) return;
    const { ghost, to, device, from } = drag;
    end();
    if (!ghost) return;
    const stop = (click) => { click.preventDefault(); click.stopPropagation(); };
    document.addEventListener("click", stop, { capture: true, once: true });
    setTimeout(() => document.removeEventListener("click", stop, true), 0);
    if (to) check(device, to.unit, both(device, from) ? "" : to.face);
  });
  document.addEventListener("keydown", (e) => { if (e.key === "Escape" && drag) { clear(); end(); } });
  document.addEventListener("pointercancel", () => { clear(); end(); });

  // both reports whether a device of the rack occupies both faces, as it does after a move.
  const both = (device, from) => !from.closest(".maps-rack") || rack.querySelectorAll(`td[data-device="${CSS.escape(device)}"]`).length > 1;

  async function check(device, unit, face) {
    const form = document.querySelector("#maps-move form"), values = { device, unit, face };
    for (const [name, value] of Object.entries(values)) form.elements[name].value = value;
    await htmx.ajax("GET", rack.dataset.rack + "?" + new URLSearchParams(values), { target: "#maps-confirm", swap: "innerHTML" });
    const panel = document.querySelector("#maps-confirm");
    panel.scrollIntoView({ block: "nearest" });
    panel.querySelector("button")?.focus();
  }
})();
