"use strict";

/* One window: a clip, and tracks whose cursor follows it. */
class Player {
  constructor(section) {
    this.section = section;
    this.video = section.querySelector("video");
    this.facts = JSON.parse(section.querySelector("script").textContent);
    this.cursor = section.querySelector(".cursor");
    this.clock = section.querySelector(".clock");
    this.playButton = section.querySelector(".play");
    this.tracks = [...section.querySelectorAll(".track")];
    this.listen();
    this.show(0);
  }

  listen() {
    const on = (target, event, action) => target.addEventListener(event, action);
    const find = (name) => this.section.querySelector(name);
    on(this.playButton, "click", () => this.toggle());
    on(find(".back"), "click", () => this.step(-1));
    on(find(".forward"), "click", () => this.step(1));
    on(find(".rate"), "change", (event) => { this.video.playbackRate = Number(event.target.value); });
    on(find(".tracks"), "click", (event) => {
      const box = find(".over").getBoundingClientRect();
      this.seek(((event.clientX - box.left) / box.width) * this.facts.seconds);
    });
    on(this.video, "seeked", () => this.show(this.video.currentTime));
    for (const event of ["play", "pause", "ended"]) on(this.video, event, () => this.changed());
  }

  changed() {
    this.playButton.textContent = this.video.paused ? "Play" : "Pause";
    if (!this.video.paused) requestAnimationFrame(() => this.follow());
  }

  follow() {
    this.show(this.video.currentTime);
    if (!this.video.paused) requestAnimationFrame(() => this.follow());
  }

  toggle() {
    if (this.video.paused) this.video.play(); else this.video.pause();
  }

  pause() { this.video.pause(); }

  seek(time) {
    const last = Math.max(0, this.facts.seconds - 0.001);
    this.video.currentTime = Math.min(Math.max(time, 0), last);
  }

  /* To the start of the next or previous frame; half a millisecond later, so that rounding
     cannot land on the frame before. */
  step(by) {
    this.video.pause();
    const frames = this.facts.frames;
    const now = lastAtOrBefore(frames, this.video.currentTime);
    this.seek(frames[Math.min(Math.max(now + by, 0), frames.length - 1)] + 0.0005);
  }

  show(time) {
    const { seconds, frames, start } = this.facts;
    const frame = lastAtOrBefore(frames, time);
    this.cursor.style.left = `${(100 * Math.min(time, seconds)) / seconds}%`;
    this.clock.textContent = `${time.toFixed(3)} s of ${seconds.toFixed(3)} s · frame ${frame}`;
    this.clock.title = `window starts at ${start} ns`;
    Object.assign(this.section.dataset, { time, frame });
    this.tracks.forEach((track, i) => showRow(track, this.facts.tracks[i], time, seconds));
  }
}

/* Highlight the row of a track that is nearest to a time. */
function showRow(track, facts, time, seconds) {
  if (facts.spans) showLabel(track, facts.spans, time);
  if (!facts.times.length) return;
  const row = nearest(facts.times, time);
  const output = track.querySelector("output");
  track.dataset.row = row * facts.stride;
  output.classList.toggle("masked", !facts.mask[row]);
  const values = facts.values ? facts.values.map((trace) => trace[row]) : [];
  const state = facts.mask[row] ? values.map((value, i) => read(value, facts.names[i])) : ["masked"];
  const stamp = `#${row * facts.stride} ${facts.times[row].toFixed(3)} s`;
  output.textContent = [stamp, ...state].join(" ");
  output.title = [stamp, ...state].join("\n");
  const x = (1000 * facts.times[row]) / seconds;
  track.querySelectorAll(".dot").forEach((dot, i) => {
    const level = facts.levels[i][row];
    dot.setAttribute("d", level === null ? "" : `M${x},${level}h0`);
  });
}

/* A value with the name of its column, on one line. */
function read(value, name) {
  const number = value === null ? "–" : value.toPrecision(3);
  return name === undefined ? number : `${name}\u00a0${number}`;
}

function showLabel(track, spans, time) {
  const now = spans.filter(([start, end]) => start <= time && time < end);
  track.querySelector("output").textContent = now.map((span) => span[2]).join(", ");
}

/* Index of the last of sorted times that is not after a time, at least 0. */
function lastAtOrBefore(times, time) {
  let low = 0;
  let high = times.length;
  while (high - low > 1) {
    const middle = (low + high) >> 1;
    if (times[middle] <= time + 1e-6) low = middle; else high = middle;
  }
  return low;
}

function nearest(times, time) {
  const before = lastAtOrBefore(times, time);
  const after = Math.min(before + 1, times.length - 1);
  return times[after] - time < time - times[before] ? after : before;
}

/* Several windows, one at a time. */
class Browser {
  constructor(sections, choices) {
    this.sections = sections;
    this.choices = choices;
    choices.forEach((choice, i) => choice.addEventListener("click", () => this.open(i)));
    document.querySelector(".previous")?.addEventListener("click", () => this.open(this.at - 1));
    document.querySelector(".next")?.addEventListener("click", () => this.open(this.at + 1));
    document.addEventListener("keydown", (event) => this.key(event));
    this.open(0);
  }

  open(index) {
    this.player?.pause();
    this.at = Math.min(Math.max(index, 0), this.sections.length - 1);
    this.sections.forEach((section, i) => { section.hidden = i !== this.at; });
    this.choices.forEach((choice, i) => choice.setAttribute("aria-pressed", i === this.at));
    this.player = this.sections[this.at].player;
  }

  key(event) {
    const actions = {
      " ": () => this.player.toggle(),
      ArrowLeft: () => this.player.step(-1),
      ArrowRight: () => this.player.step(1),
      PageUp: () => this.open(this.at - 1),
      PageDown: () => this.open(this.at + 1),
    };
    if (!actions[event.key] || event.target.matches("select, button")) return;
    event.preventDefault();
    actions[event.key]();
  }
}

const windows = [...document.querySelectorAll(".window")];
for (const section of windows) section.player = new Player(section);
new Browser(windows, [...document.querySelectorAll("nav .choice")]);
