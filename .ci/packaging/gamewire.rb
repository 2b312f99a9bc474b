# The formula for Homebrew: `brew install --formula ./gamewire.rb`. Made by .ci/packaging/fill.
class Gamewire < Formula
  desc "Reads packet captures of game-server query and master-server protocols"
  homepage "https://github.com/gamewire/gamewire"
  version "@VERSION@"
  license any_of: ["MIT", "Apache-2.0"]

  on_macos do
    on_arm do
      url "@URL@/gamewire-@VERSION@-aarch64-apple-darwin.tar.gz"
      sha256 "@SHA256 gamewire-@VERSION@-aarch64-apple-darwin.tar.gz@"
    end
    on_intel do
      url "@URL@/gamewire-@VERSION@-x86_64-apple-darwin.tar.gz"
      sha256 "@SHA256 gamewire-@VERSION@-x86_64-apple-darwin.tar.gz@"
    end
  end

  on_linux do
    on_arm do
      url "@URL@/gamewire-@VERSION@-aarch64-unknown-linux-gnu.tar.gz"
      sha256 "@SHA256 gamewire-@VERSION@-aarch64-unknown-linux-gnu.tar.gz@"
    end
    on_intel do
      url "@URL@/gamewire-@VERSION@-x86_64-unknown-linux-gnu.tar.gz"
      sha256 "@SHA256 gamewire-@VERSION@-x86_64-unknown-linux-gnu.tar.gz@"
    end
  end

  def install
    bin.install "gamewire"
    man1.install Dir["man/*.1"]
    bash_completion.install "completions/gamewire.bash" => "gamewire"
    fish_completion.install "completions/gamewire.fish"
    zsh_completion.install "completions/_gamewire"
  end

  test do
    assert_match version.to_s, shell_output("#{bin}/gamewire --version")
    assert_match "A2S030", shell_output("#{bin}/gamewire explain A2S030")
  end
end
