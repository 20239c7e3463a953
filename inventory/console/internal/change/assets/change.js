// What forms add to their HTML: suggestions of records for references, and ticks of fields that are typed into.
"use strict";
(() => {
  document.querySelectorAll("[data-pick]").forEach((at) => {
    const [input, id, label] = at.querySelectorAll("input");
    const list = document.createElement("ul");
    list.id = input.id + "-list";
    list.className = "change-list";
    list.hidden = true;
    list.setAttribute("role", "listbox");
    list.setAttribute("aria-label", document.querySelector(`label[for="${input.id}"]`)?.textContent || "Records");
    at.append(list);
    input.setAttribute("role", "combobox");
    input.setAttribute("aria-autocomplete", "list");
    input.setAttribute("aria-expanded", "false");
    input.setAttribute("aria-controls", list.id);
    let timer, asked = 0, taken = false;
    const options = () => [...list.querySelectorAll("[role=option]:not([aria-disabled])")];
    const mark = () => at.classList.toggle("change-picked", id.value !== "" && input.value === label.value);
    const show = (open) => {
      list.hidden = !open;
      input.setAttribute("aria-expanded", String(open));
      if (!open) { asked++; clearTimeout(timer); input.removeAttribute("aria-activedescendant"); }
    };
    const choose = (n) => options().forEach((o, i) => {
      o.setAttribute("aria-selected", String(i === n));
      if (i === n) { input.setAttribute("aria-activedescendant", o.id); o.scrollIntoView({ block: "nearest" }); }
    });
    const take = (o) => {
      if ("picks" in at.dataset) { // one more of a list
        const box = document.createElement("label"), tick = document.createElement("input");
        Object.assign(tick, { type: "checkbox", name: input.name, value: o.dataset.id, checked: true });
        box.append(tick, " " + o.dataset.text);
        at.previousElementSibling.append(box);
        input.value = "";
        show(false);
        return;
      }
      input.value = label.value = o.dataset.text;
      id.value = o.dataset.id;
      show(false);
      mark();
      input.dispatchEvent(new Event("change", { bubbles: true }));
    };
    const find = async (all) => {
      const mine = ++asked;
      const place = document.querySelector(".change-picked > [name='location_id.id']"); // what is there comes first
      const from = place && !at.contains(place) ? "&at=" + place.value : "";
      const answer = await fetch(at.dataset.pick + from + "&q=" + encodeURIComponent(all ? "" : input.value), { headers: { "HX-Request": "true" } });
      if (mine !== asked || !answer.ok) return;
      list.innerHTML = await answer.text();
      if (mine !== asked) return;
      show(true);
      if (!all && input.value) choose(0);
      list.scrollIntoView({ block: "nearest" });
    };
    input.addEventListener("input", () => { // what is listed is for the text before
      mark();
      choose(-1);
      input.removeAttribute("aria-activedescendant");
      asked++;
      clearTimeout(timer);
      timer = setTimeout(find, 150);
    });
    input.addEventListener("blur", () => show(false));
    input.addEventListener("keypress", (e) => { if (taken && e.key === "Enter") e.preventDefault(); }); // it chooses, and does not send the form
    input.addEventListener("keydown", (e) => {
      taken = false;
      const all = options(), now = all.findIndex((o) => o.getAttribute("aria-selected") === "true");
      if (e.key === "ArrowDown" || e.key === "ArrowUp") {
        e.preventDefault();
        if (list.hidden) find(input.value === label.value);
        else if (all.length) choose((now + (e.key === "ArrowDown" ? 1 : now < 0 ? 0 : -1) + all.length) % all.length);
      } else if (e.key === "Enter" && !list.hidden && all[now]) {
        e.preventDefault();
        take(all[now]);
        taken = true;
      } else if (e.key === "Escape" && !list.hidden) {
        e.preventDefault();
        e.stopPropagation();
        show(false);
      }
    });
    list.addEventListener("mousedown", (e) => {
      e.preventDefault(); // the input keeps the focus
      const o = e.target.closest("[role=option]:not([aria-disabled])");
      if (o) take(o);
    });
    input.addEventListener("click", () => { if (list.hidden) find(input.value === label.value); });
    mark();
  });

  // A change of all records that match goes on by itself, until it ends or is stopped.
  const goOn = async () => {
    for (let form, stop = false; (form = document.querySelector("[data-go-on]"));) {
      const at = form.parentElement, sent = new URLSearchParams(new FormData(form)), button = form.querySelector("[name=_stop]");
      form.classList.add("change-running");
      button.addEventListener("click", (e) => { e.preventDefault(); stop = true; button.textContent = "Stopping"; });
      if (stop) sent.set("_stop", "1");
      const answer = await fetch(form.getAttribute("action"), { method: "POST", body: sent, headers: { "HX-Request": "true" } }).catch(() => null);
      const next = answer && new DOMParser().parseFromString(await answer.text(), "text/html").getElementById(at.id);
      if (!next) {
        form.classList.remove("change-running");
        ashlar.toast("The server does not answer. What is done stays: go on when it answers again.", true);
        return;
      }
      const held = at.contains(document.activeElement);
      at.replaceWith(next);
      if (held) (next.querySelector("[name=_stop]") || next.querySelector("button, .button"))?.focus();
    }
  };
  goOn();

  // Another choice of the record that fills the form of a new one replaces values that are empty, or from the choice before.
  document.querySelectorAll("[data-fills]").forEach((at) => {
    const [input, id] = at.querySelectorAll("input"), inputOf = (note) => note.closest(".field").querySelector("input");
    document.querySelectorAll(".change-filled").forEach((note) => { inputOf(note).dataset.filled = inputOf(note).value; });
    let last = input.value && id.value;
    input.addEventListener("change", async () => { // once for a choice: leaving the field is a change too
      const chosen = input.value && id.value;
      if (chosen === last) return;
      last = chosen;
      const answer = chosen && await fetch(at.dataset.fills + "?" + new URLSearchParams({ [input.name]: chosen }));
      if (answer && !answer.ok) return void (last = null);
      const fresh = new DOMParser().parseFromString(answer ? await answer.text() : "", "text/html");
      if (chosen !== (input.value && id.value)) return;
      document.querySelectorAll(".change-filled").forEach((note) => note.remove());
      document.querySelectorAll("[data-filled]").forEach((old) => { if (old.value === old.dataset.filled) old.value = ""; });
      fresh.querySelectorAll(".change-filled").forEach((note) => {
        const from = inputOf(note), mine = document.getElementById(from.id);
        if (!mine || mine.value) return;
        mine.value = mine.dataset.filled = from.value;
        note.removeAttribute("id");
        note.setAttribute("role", "status");
        mine.closest(".field").append(note);
      });
    });
  });

  document.querySelectorAll(".change-set").forEach((set) => {
    const tick = set.querySelector(".change-tick input");
    for (const kind of ["input", "change"]) set.querySelector(".change-set-field").addEventListener(kind, () => { tick.checked = true; });
  });
})();
