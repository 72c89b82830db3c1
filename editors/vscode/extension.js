// Starts `noetl lsp` for playbooks and shows their graphs; all that is known of them is known there.
const vscode = require("vscode");
const { LanguageClient } = require("vscode-languageclient/node");

const TYPING_MS = 300;
const panels = new Map(); // address of a text -> the view of its graph
const timers = new Map();
let client;

function start() {
  const command = vscode.workspace.getConfiguration("noetl").get("path");
  const server = { command, args: ["lsp"] };
  client = new LanguageClient("noetl", "NoETL", server, { documentSelector: [{ language: "yaml" }] });
  return client.start().catch((error) => {
    vscode.window.showErrorMessage(`NoETL: ${command} lsp cannot be started: ${error}. Set noetl.path.`);
  });
}

// A client that could not be started cannot be stopped either.
function stop() {
  return client ? client.stop().catch(() => {}) : Promise.resolve();
}

function restart() {
  return stop().then(start);
}

function configured(event) {
  if (event.affectsConfiguration("noetl.path")) restart();
}

// A text that cannot be read leaves the last picture where it is.
async function draw(document) {
  const panel = panels.get(document.uri.toString());
  const uri = client.code2ProtocolConverter.asUri(document.uri);
  const svg = await client.sendRequest("workspace/executeCommand", { command: "noetl.picture", arguments: [uri] });
  if (panel && svg) panel.webview.html = page(svg);
  else if (panel && !panel.webview.html) panel.webview.html = page("<p>This text is no playbook yet.</p>");
}

function page(body) {
  const policy = "default-src 'none'; style-src 'unsafe-inline'";
  const meta = `<meta charset="utf-8"><meta http-equiv="Content-Security-Policy" content="${policy}">`;
  return `<!DOCTYPE html><html><head>${meta}</head><body>${body}</body></html>`;
}

function showGraph() {
  const document = vscode.window.activeTextEditor?.document;
  if (!document) return undefined;
  const key = document.uri.toString();
  if (panels.has(key)) panels.get(key).reveal(vscode.ViewColumn.Beside, true);
  else {
    const name = `Graph of ${document.uri.path.split("/").pop()}`;
    const place = { viewColumn: vscode.ViewColumn.Beside, preserveFocus: true };
    const panel = vscode.window.createWebviewPanel("noetl.graph", name, place, {});
    panel.onDidDispose(() => panels.delete(key));
    panels.set(key, panel);
  }
  return draw(document);
}

function drawSoon({ document }) {
  const key = document.uri.toString();
  clearTimeout(timers.get(key));
  timers.delete(key);
  if (panels.has(key)) timers.set(key, setTimeout(() => draw(document), TYPING_MS));
}

exports.activate = (context) => {
  context.subscriptions.push(
    vscode.commands.registerCommand("noetl.restart", restart),
    vscode.commands.registerCommand("noetl.showGraph", showGraph),
    vscode.workspace.onDidChangeTextDocument(drawSoon),
    vscode.workspace.onDidChangeConfiguration(configured),
  );
  return start();
};

exports.deactivate = stop;
