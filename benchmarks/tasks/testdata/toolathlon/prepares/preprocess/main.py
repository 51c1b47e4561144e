import shutil
shutil.copytree("a", "b")
