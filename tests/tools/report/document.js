// SPDX-License-Identifier: Apache-2.0
// A document as far as the report's page needs one, for Node.js: elements are kept as they are made, and canvases
// remember the calls of their last frame. Every element is kWidth wide and begins at the window's corner.
//
// stdin:  {"root": NODE, "script": TEXT, "actions": [TEXT]}; NODE: a text, or {"tag", "attributes", "children"}.
// stdout: {"root": SHOWN, "title": TEXT, "results": [VALUE of each action]}. Actions run after the script, in its scope,
//         where fire(id, type, fields) sends an event. Frames that were asked for are drawn after each.
'use strict';
const fs = require('fs');
const vm = require('vm');

const kWidth = 1112;  // a thousand pixels of timeline beside its gutter
const kDrawing = ['fillRect', 'strokeRect', 'fillText', 'moveTo', 'lineTo'];
const kSettings = ['fillStyle', 'strokeStyle', 'globalAlpha', 'textAlign', 'font', 'lineWidth'];

class Context {
  constructor() {
    this.calls = [];
    this.globalAlpha = 1;
    for (const name of kDrawing) this[name] = (...values) => this.remember(name, values);
  }
  remember(name, values) {
    const is_bad = (value) => value === undefined || (typeof value === 'number' && !Number.isFinite(value));
    if (values.some(is_bad)) throw new Error(name + '(' + values.join(', ') + ')');
    this.calls.push({name, values, ...Object.fromEntries(kSettings.map((setting) => [setting, this[setting]]))});
  }
  clearRect() { this.calls = []; }
  setTransform() {}
  beginPath() {}
  stroke() {}
}

class Element {
  constructor(tag, attributes = {}) {
    this.tagName = tag.toUpperCase();
    this.attributes = {...attributes};
    this.nodes = [];  // texts and elements
    this.parent = null;
    this.listeners = {};
    this.dataset = {};
    this.hidden = 'hidden' in attributes;
    this.className = attributes.class || '';
    const style = {};
    this.style = {values: style, setProperty: (name, value) => { style[name] = value; }};
    this.classList = {toggle: (name, on) => this.set_class(name, on), remove: (name) => this.set_class(name, false)};
    if (this.tagName !== 'SELECT') this.own_value = '';
  }
  set_class(name, on) {
    const others = this.className.split(' ').filter((one) => one !== '' && one !== name);
    this.className = (on ? [...others, name] : others).join(' ');
  }
  append(...nodes) {
    for (const node of nodes) {
      if (node instanceof Element) node.parent = this;
      this.nodes.push(node instanceof Element ? node : String(node));
    }
  }
  replaceChildren(...nodes) {
    this.nodes = [];
    this.append(...nodes);
  }
  get children() { return this.nodes.filter((node) => node instanceof Element); }
  get firstChild() { return this.nodes[0]; }
  get lastChild() { return this.nodes[this.nodes.length - 1]; }
  get textContent() { return this.nodes.map((node) => (node instanceof Element ? node.textContent : node)).join(''); }
  set textContent(value) { this.replaceChildren(...(String(value) === '' ? [] : [value])); }
  // A list has the value of its chosen option, the first one until another is chosen.
  get value() {
    if (this.tagName !== 'SELECT') return this.own_value;
    return (this.chosen || this.children[0] || {value: ''}).value;
  }
  set value(value) {
    if (this.tagName === 'SELECT') this.chosen = this.children.find((option) => option.value === String(value));
    else this.own_value = String(value);
  }
  setAttribute(name, value) { this.attributes[name] = String(value); }
  addEventListener(type, listener) { (this.listeners[type] = this.listeners[type] || []).push(listener); }
  setPointerCapture() {}
  get shown() { return !this.hidden && (this.parent === null || this.parent.shown); }
  get clientWidth() { return this.shown ? kWidth : 0; }
  getBoundingClientRect() {
    return {left: 0, top: 0, width: this.clientWidth, height: parseFloat(this.style.height) || 0};
  }
  getContext() { return this.context || (this.context = new Context()); }
  find(id) {
    if (this.attributes.id === id) return this;
    return this.children.reduce((found, child) => found || child.find(id), null);
  }
  to_json() {
    return {tag: this.tagName.toLowerCase(), id: this.attributes.id, class: this.className, hidden: this.hidden,
            title: this.title, attributes: this.attributes, style: {...this.style, ...this.style.values},
            text: this.textContent, calls: this.context && this.context.calls,
            children: this.children.map((child) => child.to_json())};
  }
}

function built(node) {
  if (typeof node === 'string') return node;
  const element = new Element(node.tag, node.attributes);
  element.append(...node.children.map(built));
  return element;
}

const input = JSON.parse(fs.readFileSync(0, 'utf8'));
const root = built(input.root);
const frames = [];
const document = new Element('document');
Object.assign(document, {documentElement: root, title: '', createElement: (tag) => new Element(tag),
                         getElementById: (id) => root.find(id)});

// The page's colors are variables of its style; one that the style does not have is an error.
function color_of(name) {
  const style = root.children[0].children.find((child) => child.tagName === 'STYLE').textContent;
  const block = style.split(root.dataset.theme === 'dark' ? ':root[data-theme="dark"] {' : ':root {')[1].split('}')[0];
  const found = block.match(new RegExp('(?:^|[ ;])' + name + ': ([^;]+);'));
  if (!found) throw new Error('no color ' + name);
  return found[1];
}

function fire(id, type, fields = {}) {
  const target = id === 'document' ? document : root.find(id);
  const event = {type, target, button: 0, pointerId: 1, prevented: false, ...fields};
  event.preventDefault = () => { event.prevented = true; };
  for (const listener of target.listeners[type] || []) listener(event);
  if (target['on' + type]) target['on' + type](event);
  return event.prevented;
}

const scope = vm.createContext({
  document, fire, window: {devicePixelRatio: 2}, innerWidth: kWidth, innerHeight: 800,
  getComputedStyle: () => ({getPropertyValue: color_of}),
  matchMedia: () => ({matches: false, addEventListener() {}}),
  ResizeObserver: class { observe() {} },
  requestAnimationFrame: (frame) => frames.push(frame)});

function run(text, name) {
  const value = vm.runInContext(text, scope, {filename: name});
  while (frames.length > 0) frames.shift()();
  return value === undefined ? null : value;
}

run(input.script, 'script of the page');
const results = input.actions.map((action) => run(action, action));
process.stdout.write(JSON.stringify({root: root.to_json(), title: document.title, results}));
