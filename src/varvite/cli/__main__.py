from varvite.cli.main import main

main()
