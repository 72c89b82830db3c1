// Starts `noetl lsp` for playbooks; all that is known of them is known there.
const vscode = require("vscode");
const { LanguageClient } = require("vscode-languageclient/node");

let client;

function start() {
  const command = vscode.workspace.getConfiguration("noetl").get("path");
  const server = { command, args: ["lsp"] };
  client = new LanguageClient("noetl", "NoETL", server, { documentSelector: [{ language: "yaml" }] });
  return client.start().catch((error) => {
    vscode.window.showErrorMessage(`NoETL: ${command} lsp cannot be started: ${error}. Set noetl.path.`);
  });
}

exports.activate = (context) => {
  const restart = () => (client ? client.stop() : Promise.resolve()).then(start);
  context.subscriptions.push(vscode.commands.registerCommand("noetl.restart", restart));
  return start();
};

exports.deactivate = () => client?.stop();
